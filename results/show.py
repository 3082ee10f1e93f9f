"""A table with its words, in one of the formats."""

from collections.abc import Mapping
from typing import Any, TextIO

from results import formats
from results.columns import joined, wrapped
from results.model import Results
from results.replays import totals
from results.table import Table, build, common_params
from results.words import words

FORMATS = ("text", "csv", "markdown", "json")


def show(results: Results, stream: TextIO, format: str = "text", colour: bool = False) -> None:
    """Print the table of a file and what it says. ValueError for a format not in `FORMATS`.

    `colour` is for terminals and touches only text.
    """
    table = build(results)
    if format == "csv":
        stream.write(formats.csv_text(table))
    elif format == "json":
        stream.write(formats.json_text(table, words(results)))
    elif format == "markdown":
        stream.write(joined(formats.markdown(table), _remarks(table, in_lines=False)))
    elif format == "text":
        stream.write(joined(formats.text(table, colour), _remarks(table, in_lines=True)))
    else:
        raise ValueError(f"expected one of {', '.join(FORMATS)}, found {format!r}")


def _remarks(table: Table, in_lines: bool) -> list[str]:
    """Notes on the marks, where it was measured, and the findings as a list."""
    results = table.results
    lines = [*formats.notes(table), *_common(results), *_provenance(results.metadata)]
    lines += _probes(results)
    lines += totals(results.rows)
    findings = [f"- {sentence}" for sentence in words(results)]
    if findings:
        lines += ["", *findings]
    if not in_lines:
        return lines
    return [part for line in lines for part in wrapped(line)]


def _common(results: Results) -> list[str]:
    """The parameters that have no column."""
    found = common_params(results.rows)
    return [f"Parameters: {', '.join(f'{k}={v}' for k, v in found.items())}."] if found else []


def _provenance(metadata: Mapping[str, Any]) -> list[str]:
    """Where the figures come from: without the machine they mean nothing."""
    python = metadata.get("scopestress_python") or metadata.get("python_version")
    kernel = metadata.get("scopestress_kernel") or metadata.get("platform")
    cpu = metadata.get("scopestress_cpu") or metadata.get("cpu_model_name")
    collector = metadata.get("scopestress_gc_thresholds")
    objects, malloc = (metadata.get(f"scopestress_{key}") for key in ("object_allocator", "malloc"))
    facts = [
        *(python, kernel, cpu),
        collector and f"gc thresholds {collector}",
        objects and malloc and f"objects from {objects}, malloc of {malloc}",
    ]
    known = [str(fact) for fact in facts if fact]
    return [f"Measured with {', '.join(known)}."] if known else []


def _probes(results: Results) -> list[str]:
    """What was read beside the times: some of it slows what is timed."""
    found = dict.fromkeys(row.metadata.get("scopestress_probes") for row in results.rows)
    sets = [str(names).replace(",", ", ") for names in found if names]
    if not sets:
        return []
    return [f"Probes on: {'; in other rows '.join(sets)}."]
