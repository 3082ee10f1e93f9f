"""What a file says about the machine and the process it comes from."""

import json
import subprocess
import sys

from suites import provenance


def read_back(**variables: str) -> dict[str, str]:
    """The facts about a process that was started with these variables."""
    code = "import json; from suites import provenance as p; print(json.dumps(p.of_process()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=provenance.ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def test_interpreter_collector_allocators_and_machine_are_named():
    facts = provenance.of_process()
    assert {
        "scopestress_python",
        "scopestress_build",
        "scopestress_gil",
        "scopestress_gc",
        "scopestress_gc_thresholds",
        "scopestress_object_allocator",
        "scopestress_malloc",
        "scopestress_kernel",
        "scopestress_cpu",
    } <= set(facts)


def test_the_version_of_python_has_its_patch_level():
    version = ".".join(map(str, sys.version_info[:3]))
    assert version in provenance.of_process()["scopestress_python"]


def test_a_fact_is_one_line_that_is_not_empty():
    assert all(fact and "\n" not in fact for fact in provenance.of_process().values())


def test_an_object_allocator_is_read_back_from_the_process():
    assert read_back(PYTHONMALLOC="malloc")["scopestress_object_allocator"] == "malloc"
    assert read_back()["scopestress_object_allocator"] == "pymalloc"
    assert read_back(PYTHONMALLOC="debug")["scopestress_object_allocator"] == "pymalloc_debug"


def test_options_of_malloc_are_named_and_absent_without_any():
    found = read_back(MALLOC_ARENA_MAX="1", GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
    assert found["scopestress_malloc_options"] == (
        "GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MALLOC_ARENA_MAX=1"
    )
    assert "scopestress_malloc_options" not in read_back()


def test_variables_of_ours_and_of_allocators_are_named():
    found = read_back(SCOPES_EXAMPLE="1", PYTHONMALLOC="malloc", OTHER="2")
    assert found["scopestress_environ"] == "PYTHONMALLOC=malloc SCOPES_EXAMPLE=1"


def test_huge_pages_are_named_by_the_setting_that_is_chosen():
    assert provenance.chosen("always [madvise] never\n") == "madvise"
    assert provenance.chosen("") == ""


def test_a_processor_without_a_model_name_is_not_found():
    assert provenance.cpu_model("processor\t: 0\nmodel name\t: Some CPU\n") == "Some CPU"
    assert provenance.cpu_model("processor\t: 0\nBogoMIPS\t: 50.00\n") == ""


def test_an_installed_package_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.of_project() == {}


def test_a_checkout_is_named_by_its_commit(monkeypatch, tmp_path):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.of_project() == {"scopestress_commit": head.stdout.strip()}
