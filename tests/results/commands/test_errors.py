"""Whatever a file holds, a command answers with figures or with a line that names the file."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.__main__ import main
from results.gate.noise import Floor, Floors
from results.gate.noise_file import write_floors

Make = Callable[..., pyperf.Benchmark]
FileOf = Callable[..., Path]
Metrics = Callable[..., dict[str, Any]]
Capture = pytest.CaptureFixture[str]

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**400, 1e300, 1e-320, float("nan"), float("inf")),
    *("", "x\ny", "\ud800", "a[NONE]", [], {}, [[]], {"values": []}),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def good(file_of: FileOf, make_score: Make, thrashing: Metrics) -> str:
    metadata = {"scopestress_commit": "a" * 40, "scopestress_params": '{"size": "1KiB"}'}
    scores = [
        make_score(f"{name}[NONE]", processes=6, values=1, metrics=thrashing(), metadata=metadata)
        for name in "ab"
    ]
    file_of("good.json", *scores)
    noise = {"a[NONE]": {"score": Floor(1e-9, 0.01)}}
    write_floors("noise.json", Floors(3, 6, ("run",), "", {"python": ("CPython",)}, noise))
    return Path("good.json").read_text()


def commands(name: str) -> list[list[str]]:
    """Every way in which a command reads a file."""
    return [
        ["show", name],
        ["show", name, "--format", "json"],
        ["expand", name, "-o", f"{os.urandom(8).hex()}.json"],
        ["compare", "good.json", name],
        ["compare", name, "good.json", "good.json"],
        ["compare", name, name, "--format", "json", "--layout", "blocks"],
        ["compare", "good.json", name, "--format", "csv"],
        ["gate", "good.json", name, "--summary", "summary.md", "--junit", "junit.xml"],
        ["gate", "good.json", "good.json", "--noise", name],
        ["history", "good.json", name, "--export", "github-action-benchmark", "action.json"],
        ["history", name, "--export", "asv", "asv"],
    ]


def answers(name: str, capsys: Capture) -> None:
    """Run every command; an exception fails the test by itself."""
    for command in commands(name):
        status = main(command)
        captured = capsys.readouterr()
        assert status in (0, 1, 2, 3, 4), command
        if status == 2:
            assert captured.err.startswith("results: "), command
            assert name in captured.err, command
        elif command[0] != "expand":
            assert captured.out, command


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"version": "1.0", "benchmarks": []}',
        b'{"version": "0.8", "benchmarks": []}',
        b'{"results": [{"command": "sleep 1", "mean": 1.0}]}',
        b"<html></html>",
        b"[" * 100_000,
        b"9" * 5000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_foreign_files_are_named(folder: Path, good: str, content: bytes, capsys: Capture) -> None:
    (folder / "bad.json").write_bytes(content)
    for command in commands("bad.json"):
        assert main(command) == 2
        assert "bad.json: " in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_file_is_named(folder: Path, good: str, capsys: Capture) -> None:
    (folder / "bad.json").mkdir()
    for command in commands("bad.json")[:9]:
        assert main(command) == 2
        assert "bad.json: can't be read: is a directory" in capsys.readouterr().err


def test_another_version_of_the_schema_is_named_with_its_place(
    folder: Path, good: str, capsys: Capture
) -> None:
    text = good.replace('"scopestress_schema":1', '"scopestress_schema":2')
    assert text != good
    (folder / "bad.json").write_text(text)
    assert main(["compare", "good.json", "bad.json"]) == 2
    expected = "results: bad.json: benchmark 1, run 1: expected scopestress_schema 1, found 2\n"
    assert capsys.readouterr().err == expected


def mutated(text: str, rng: random.Random) -> str:
    """The text with a part missing, doubled or another, or the JSON with an odd value in it."""
    kind = rng.randrange(6)
    start, length = rng.randrange(len(text)), rng.randrange(1, 40)
    if kind == 0:
        return text[:start]
    if kind == 1:
        return text[:start] + text[start + length :]
    if kind == 2:
        return text[:start] + text[start : start + length] + text[start:]
    if kind == 3:
        return text[:start] + rng.choice('{}[]",:0-e\\') + text[start + 1 :]
    data = json.loads(text)
    for _ in range(rng.randrange(1, 4)):
        _disturb(data, rng)
    return json.dumps(data)


def _disturb(data: Any, rng: random.Random) -> None:
    """Walk down to some place and make it odd; figures that are JSON in a text, too."""
    node = data
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        child = node[key]
        if isinstance(child, str) and child.startswith("{") and rng.random() < 0.7:
            inner = json.loads(child)
            _disturb(inner, rng)
            node[key] = json.dumps(inner)
            return
        if isinstance(child, (dict, list)) and child and rng.random() < 0.9:
            node = child
            continue
        if rng.random() < 0.2:
            del node[key]
        elif rng.random() < 0.2 and isinstance(node, list):
            node.append(child)
        else:
            node[key] = rng.choice(ODD)
        return


def _try(folder: Path, text: str, seeds: range, capsys: Capture) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        changed = mutated(text, rng)
        (folder / "bad.json").write_text(changed, errors="surrogatepass")
        try:
            answers("bad.json", capsys)
        except BaseException:
            print(f"seed {seed}")
            raise


def test_files_with_a_fault_are_answered(folder: Path, good: str, capsys: Capture) -> None:
    _try(folder, good, range(40), capsys)
    _try(folder, Path("noise.json").read_text(), range(20), capsys)


@pytest.mark.long
def test_many_files_with_faults_are_answered(folder: Path, good: str, capsys: Capture) -> None:
    _try(folder, good, range(100, 250), capsys)
    _try(folder, Path("noise.json").read_text(), range(100, 150), capsys)
