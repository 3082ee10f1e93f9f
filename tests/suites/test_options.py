"""The command line: what is refused with which words, and what reaches a worker."""

import pyperf
import pytest

from stress.probes import PROBES
from suites.options import REFUSED, forward, is_quick
from suites.runner import SuiteRunner
from suites.scope_close import SUITE


@pytest.fixture
def parsed(monkeypatch):
    """The runner of a command line; pyperf allows one a process, so each gets a clean slate."""

    def parse(*argv: str) -> SuiteRunner:
        monkeypatch.setattr(pyperf.Runner, "_created", set())
        return SuiteRunner(SUITE, argv)

    return parse


@pytest.fixture
def refusal(parsed, capsys):
    """The last line that a command line ends with; the exit status is 2."""

    def end(*argv: str) -> str:
        with pytest.raises(SystemExit) as stop:
            parsed(*argv)
        assert stop.value.code == 2
        return capsys.readouterr().err.splitlines()[-1].partition(": error: ")[2]

    return end


def names(runner: SuiteRunner) -> list[str]:
    return [cell.name for cell in runner.cells]


@pytest.mark.parametrize("option", REFUSED)
def test_an_option_that_is_not_for_suites_names_what_is_used_instead(refusal, option):
    assert refusal(option) == f"{option} is not available in this suite: {REFUSED[option]}"


def test_a_refused_option_with_a_value_is_refused_all_the_same(refusal):
    assert refusal("--compare-to=python3").startswith("--compare-to is not available")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ("--mode", "HEAVY"),
            "argument --mode: a stress mode is one of NONE, MEMORY, THREADS; found 'HEAVY'",
        ),
        (
            ("--size", "1 furlong"),
            "argument --size: expected a size in bytes, plain or in KiB, MiB, GiB, TiB (64KiB), "
            "found '1 furlong'",
        ),
        (("--size", "0"), "argument --size: a size is at least 1 byte, found '0'"),
        (
            ("--touch", "some"),
            "argument --touch: expected one of none, first, all; found 'some'",
        ),
        (
            ("--probe", "colour"),
            f"argument --probe: expected one of {', '.join(PROBES)}, list; found 'colour'",
        ),
        (
            ("--only", "("),
            "argument --only: expected a regular expression, found '(': "
            "missing ), unterminated subpattern at position 0",
        ),
        (
            ("--only", "nothing_like_it"),
            "nothing matches --only; --list without it prints what there is",
        ),
        (
            ("--collect-every", "0"),
            "argument --collect-every: expected a whole number of at least 1, found '0'",
        ),
        (
            ("--threads", "-1"),
            "argument --threads: expected a whole number of at least 1, found '-1'",
        ),
        (
            ("-o", "a.json", "--append", "b.json"),
            "-o writes a new file, --append adds to one: give one of them",
        ),
        (
            ("--allocator", "hoard"),
            "argument --allocator: an allocator is default, one of pymalloc, pymalloc_debug,"
            " malloc, malloc_debug, cpython-mimalloc, cpython-mimalloc_debug, debug, one of"
            " jemalloc, mimalloc, tcmalloc, or one of each as pymalloc+jemalloc; found 'hoard'",
        ),
        (
            ("--param", "size=1 furlong"),
            "argument --param: size: expected a size in bytes, plain or in KiB, MiB, GiB, TiB"
            " (64KiB), found '1 furlong'",
        ),
        (
            ("--touch", "all", "--param", "touch=none"),
            "--touch and --param touch=... say the same: give one of them",
        ),
        (
            ("--size", "1KiB", "--param", "size=1MiB"),
            "--size and --param size=... say the same: give one of them",
        ),
        (
            ("--mode", "none", "--param", "threads=2,4"),
            "argument --param: threads has no effect on any benchmark that is selected",
        ),
        (
            ("--only", "^confined", "--scope", "shared"),
            "confined_close can't share a scope between threads",
        ),
        (
            ("--hook", "scopestress_gc"),
            "--hook scopestress_gc is for benchmarks of others; a suite has the same figures by"
            " --probe gc",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_says_what_was_expected_and_what_was_found(refusal, argv, message):
    assert refusal(*argv) == message


def test_all_modes_run_unless_some_are_named(parsed):
    assert names(parsed("--only", "^baseline")) == [
        "baseline[NONE]",
        "baseline[MEMORY]",
        "baseline[THREADS]",
    ]


def test_a_mode_may_be_repeated_and_written_in_any_case(parsed):
    runner = parsed("--only", "^baseline", "--mode", "threads", "--mode", "None", "--mode", "NONE")
    assert names(runner) == ["baseline[THREADS]", "baseline[NONE]"]


def test_a_size_may_be_repeated_and_has_units(parsed):
    runner = parsed("--only", "^confined", "--mode", "none", "--size", "64KiB", "--size", "1mib")
    assert names(runner) == ["confined_close[NONE,size=64KiB]", "confined_close[NONE,size=1MiB]"]


def test_parameters_are_crossed(parsed):
    runner = parsed(
        *("--only", "^confined", "--mode", "none", "--param", "size=1KiB,1MiB"),
        *("--param", "touch=all,none"),
    )
    assert names(runner) == [
        "confined_close[NONE,touch=all]",
        "confined_close[NONE,touch=none]",
        "confined_close[NONE,size=1MiB,touch=all]",
        "confined_close[NONE,size=1MiB,touch=none]",
    ]


def test_a_parameter_may_be_repeated_as_its_option_may(parsed):
    one_of_each = ("--only", "^confined", "--mode", "none")
    by_param = parsed(*one_of_each, "--param", "size=64KiB", "--param", "size=1MiB,64KiB")
    by_option = parsed(*one_of_each, "--size", "64KiB", "--size", "1MiB")
    assert names(by_param) == names(by_option)


def test_rows_that_can_t_share_a_scope_are_left_out_where_it_is_asked_for(parsed):
    runner = parsed("--mode", "none", "--scope", "shared", "--threads-measured", "4")
    assert names(runner) == [
        f"{row.name}[NONE,scope=shared,threads-measured=4]" for row in SUITE.rows if row.sharing
    ]
    assert {row.name for row in runner.left_out} == {
        row.name for row in SUITE.rows if not row.sharing
    }


def test_quick_runs_all_rows_small_and_the_telling_ones_large(parsed):
    listed = names(parsed("--quick", "--mode", "none"))
    assert [name for name in listed if "size" not in name] == [
        f"{row.name}[NONE]" for row in SUITE.rows if row.name != "implicit_close_budget"
    ]
    assert [name for name in listed if "size" in name] == [
        "confined_close[NONE,size=1MiB]",
        "implicit_close[NONE,size=1MiB]",
        "implicit_close_systemgc[NONE,size=1MiB]",
        "implicit_close_budget[NONE,size=1MiB]",
    ]


def test_quick_takes_at_least_the_processes_that_an_error_needs(parsed):
    assert parsed("--quick").args.processes >= 3


def test_quick_gives_way_to_what_is_said_beside_it(parsed):
    runner = parsed("--quick", "-p", "7", "--size", "4KiB", "--mode", "none", "--only", "^shared")
    assert runner.args.processes == 7
    assert names(runner) == ["shared_close[NONE,size=4KiB]"]


def test_options_of_pyperf_keep_their_meaning(parsed):
    args = parsed("--rigorous", "-n", "5", "--timeout", "9", "--affinity", "0").args
    assert (args.processes, args.values, args.timeout, args.affinity) == (12, 5, 9, "0")


def test_the_output_is_kept_from_pyperf(parsed):
    runner = parsed("-o", "file.json")
    assert runner.output == "file.json"
    assert runner.args.output is None


def test_a_worker_gets_the_command_line_that_makes_the_same_cells(parsed):
    argv = ("--quick", "--peers", "--mode", "none", "--size", "2KiB", "--touch", "all")
    argv += ("--collect-every", "8", "--threads", "2", "--only", "c", "--probe", "gc", "--sample")
    argv += ("--threads-measured", "2", "--param", "allocator=default,malloc")
    argv += ("--param", "scope=own,shared")
    manager = parsed(*argv)
    forwarded: list[str] = []
    forward(forwarded, manager.args)
    worker = parsed(*forwarded)
    assert worker.cells == manager.cells
    assert worker.probes == manager.probes


def test_a_value_lasts_longer_beside_busy_threads(parsed):
    runner = parsed("--only", "^baseline", "--min-time", "0.05")
    assert {cell.mode.value: runner.min_time_s(cell) for cell in runner.cells} == {
        "NONE": 0.05,
        "MEMORY": 0.05,
        "THREADS": 0.75,
    }


def test_quick_is_seen_among_other_options():
    assert is_quick(["-p", "3", "--quick", "--only", "x"])
    assert not is_quick(["--only", "quick"])


def test_the_help_explains_the_suite_and_hides_what_is_not_for_users(parsed, capsys):
    with pytest.raises(SystemExit) as stop:
        parsed("--help")
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert "What you should see" in text
    assert "--worker-task" not in text
    assert not [option for option in REFUSED if option in text]
