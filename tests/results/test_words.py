from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results.model import Results
from results.words import MOST_LINES, words

Make = Callable[..., pyperf.Benchmark]
Read = Callable[..., Results]
Metrics = Callable[..., dict[str, Any]]


@pytest.fixture
def say(results_of: Read) -> Callable[..., list[str]]:
    return lambda *scores: words(results_of(*scores))


Say = Callable[..., list[str]]


def test_rows_alike_have_nothing_to_say(make_score: Make, say: Say, quiet: Metrics) -> None:
    rows = [make_score(f"{name}[NONE]", 1e-6, metrics=quiet(cpu=1e-6)) for name in "abc"]
    assert say(*rows, make_score("baseline[NONE]", 1e-8, metrics=quiet(cpu=1e-8))) == []


def test_plain_scores_have_nothing_to_say(make_score: Make, say: Say) -> None:
    assert say(make_score("a"), make_score("b", 5e-4)) == []


def test_a_row_that_looks_cheap_is_told_with_what_it_hides(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    said = say(
        make_score("baseline[NONE]", 1e-8, metrics=quiet(cpu=1e-8)),
        make_score("explicit[NONE,size=1MiB]", 5e-5, metrics=quiet(cpu=5e-5)),
        make_score("implicit[NONE,size=1MiB]", 2e-5, metrics=thrashing(cpu=2e-5)),
    )
    assert said == [
        "implicit[NONE,size=1MiB] looks 2.5 x as fast as explicit, but its process peaked at"
        " 812 MiB (explicit: 32 MiB) and spent 41 % of the measured time in the collector"
        " (36 collections, worst pause 46 ms)."
    ]


def test_a_row_that_looks_alike_is_told_so(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    (said,) = say(
        make_score("explicit[NONE]", 2e-5, metrics=quiet(cpu=2e-5)),
        make_score("implicit[NONE]", 2.1e-5, metrics=thrashing(cpu=2.1e-5)),
    )
    assert said.startswith("implicit[NONE] looks as fast as explicit, but its process peaked at")


def test_a_score_within_the_noise_is_not_called_another(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    noisy, wide = [[2e-5], [6e-5], [3e-5]], [[4e-5], [1.5e-4], [1e-4]]
    said = say(
        make_score("explicit[NONE]", by_process=noisy, metrics=quiet(cpu=3.6e-5)),
        make_score("implicit[NONE]", by_process=wide, metrics=thrashing(cpu=9.6e-5)),
    )
    assert said[0].startswith("implicit[NONE] looks as fast as explicit, but its process peaked")


def test_a_row_that_stress_slows_within_the_noise_is_not_told(make_score: Make, say: Say) -> None:
    said = say(
        make_score("a[NONE]", by_process=[[1e-5], [9e-5], [1e-5]]),
        make_score("a[MEMORY]", by_process=[[8e-5], [8e-4], [1e-4]]),
    )
    assert not any(sentence.startswith("MEMORY:") for sentence in said)


def test_a_dear_row_that_hides_memory_is_told_both(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    (said,) = say(
        make_score("explicit[NONE]", 1e-5, metrics=quiet(cpu=1e-5)),
        make_score("implicit[NONE]", 2.5e-4, metrics=thrashing(share=0.05)),
    )
    assert said == (
        "implicit[NONE] takes 25 x as long as explicit; what the score does not show: its process"
        " peaked at 812 MiB (explicit: 32 MiB)."
    )


def test_a_dear_row_that_hides_nothing_is_told_why_it_is_dear(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    (said,) = say(
        make_score("explicit[NONE]", 1e-5, metrics=quiet(cpu=1e-5)),
        make_score("implicit[NONE]", 2.5e-4, metrics=thrashing(peak_mib=34, share=0.9)),
    )
    assert said.startswith("implicit[NONE] takes 25 x as long as explicit: its process spent 90 %")


def test_a_row_without_a_quiet_one_beside_it_is_told_alone(
    make_score: Make, say: Say, thrashing: Metrics
) -> None:
    (said,) = say(make_score("implicit[NONE]", 2.5e-4, metrics=thrashing()))
    assert said.startswith("implicit[NONE]: its process spent 41 % of the measured time")


@pytest.mark.parametrize(
    "other",
    ["explicit[MEMORY,size=1MiB]", "explicit[NONE,size=1KiB]"],
    ids=["another mode", "another size"],
)
def test_rows_are_compared_only_within_their_cell(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics, other: str
) -> None:
    (said,) = say(
        make_score(other, 2.5e-4, metrics=quiet(cpu=2.5e-4)),
        make_score("implicit[NONE,size=1MiB]", 2.5e-4, metrics=thrashing()),
    )
    assert "explicit" not in said


def test_a_small_excess_of_memory_is_none(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    said = say(
        make_score("explicit[NONE]", 2.5e-4, metrics=quiet(32, cpu=2.5e-4)),
        make_score("implicit[NONE]", 2.5e-4, metrics=thrashing(90, share=0.02)),
    )
    assert said == []


def test_an_excess_is_measured_against_the_heap_of_the_same_mode(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    said = say(
        make_score("explicit[MEMORY]", 2.5e-4, metrics=quiet(400, cpu=2.5e-4)),
        make_score("implicit[MEMORY]", 2.5e-4, metrics=thrashing(500, share=0.02)),
    )
    assert said == []


def test_the_same_row_in_other_modes_is_one_sentence(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    (said,) = say(
        *(make_score(f"explicit[{m}]", 2.5e-4, metrics=quiet(cpu=2.5e-4)) for m in "AB"),
        *(make_score(f"implicit[{m}]", 2.5e-4, metrics=thrashing()) for m in "AB"),
    )
    assert said.startswith("implicit[A] looks")
    assert said.endswith(" Likewise in B.")


def test_a_row_that_stress_slows_is_told_with_its_calm_score(
    make_score: Make, say: Say, quiet: Metrics
) -> None:
    (said,) = say(
        make_score("systemgc[NONE]", 4e-4, by_process=[[4e-4]] * 3, metrics=quiet(cpu=4e-4)),
        make_score("systemgc[MEMORY]", 0.0124, by_process=[[0.0124]] * 3, metrics=quiet(cpu=0.012)),
    )
    assert said == (
        "MEMORY: systemgc takes 31 x its NONE score (12 ms against 400 us an operation)."
    )


def test_several_rows_that_stress_slows_share_a_line(
    make_score: Make, say: Say, quiet: Metrics
) -> None:
    pairs = [("a", 40), ("b", 5), ("c", 2)]
    rows = [make_score(f"{name}[NONE]", 1e-4, metrics=quiet(cpu=1e-4)) for name, _ in pairs]
    rows += [
        make_score(f"{name}[MEMORY]", 1e-4 * by, metrics=quiet(cpu=1e-4 * by)) for name, by in pairs
    ]
    (said,) = say(*rows)
    assert said.startswith("MEMORY: a takes 40 x its NONE score")
    assert said.endswith("; b 5.0 x.")


def test_wall_time_that_is_mostly_waiting_sends_the_reader_to_cpu_time(
    make_score: Make, say: Say, quiet: Metrics
) -> None:
    (said,) = say(
        make_score("a[NONE]", 1e-7, metrics=quiet(cpu=1e-7)),
        make_score("a[THREADS]", 1.21e-6, by_process=[[1.21e-6]] * 3, metrics=quiet(cpu=1e-7)),
    )
    assert said == (
        "THREADS: wall time of a is 12 x its CPU time; the rest is waiting, so read score.cpu"
        " there."
    )


def test_a_mode_full_of_waiting_rows_is_one_line(
    make_score: Make, say: Say, quiet: Metrics
) -> None:
    rows = [
        make_score(f"{name}[THREADS]", 1e-6, by_process=[[1e-6]] * 3, metrics=quiet(cpu=1e-6 / by))
        for name, by in (("a", 2), ("b", 15), ("c", 6))
    ]
    assert say(*rows) == [
        "THREADS: wall time is 2.0 x to 15 x CPU time in 3 rows, most in b; the rest is waiting,"
        " so read score.cpu there."
    ]


def test_waiting_rows_are_compared_by_cpu_time(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    said = say(
        make_score("explicit[THREADS]", 2e-4, metrics=quiet(cpu=1e-5)),
        make_score("implicit[THREADS]", 2e-4, metrics=thrashing(cpu=3e-5)),
    )
    assert said[0].startswith("implicit[THREADS] takes 3.0 x as long as explicit by CPU time;")


def test_vague_scores_are_told_with_what_helps(make_score: Make, say: Say) -> None:
    (said,) = say(make_score("a[NONE]", by_process=[[1.0], [1.1], [0.9]]))
    assert said == "The score of a[NONE] is known to ±182 % only: more processes (-p) narrow it."


def test_a_score_that_is_mostly_harness_is_told(make_score: Make, say: Say, quiet: Metrics) -> None:
    (said,) = say(
        make_score("baseline[NONE]", 4e-8, by_process=[[4e-8]] * 3, metrics=quiet(cpu=4e-8)),
        make_score("a[NONE]", 1e-7, by_process=[[1e-7]] * 3, metrics=quiet(cpu=1e-7)),
    )
    assert said == "baseline makes up 40 % of the score of a[NONE]: that part is the harness."


def test_many_rows_that_thrash_do_not_make_many_lines(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    rows = [make_score("explicit[NONE]", 2.5e-4, metrics=quiet(cpu=2.5e-4))]
    rows += [
        make_score(f"row{i:02}[NONE]", 2.5e-4, metrics=thrashing(1600 - 10 * i)) for i in range(20)
    ]
    said = say(*rows)
    assert len(said) <= MOST_LINES
    assert said[0].startswith("row00[NONE] looks as fast")
    assert said[-1] == (
        "row04[NONE], row05[NONE], row06[NONE] and 13 more live on memory or on the collector, too."
    )


def test_the_worst_row_comes_first(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    said = say(
        make_score("explicit[NONE]", 2.5e-4, metrics=quiet(cpu=2.5e-4)),
        make_score("mild[NONE]", 2.5e-4, metrics=thrashing(120, share=0.12)),
        make_score("wild[NONE]", 2.5e-4, metrics=thrashing(2000, share=0.6)),
    )
    assert [sentence.split("[")[0] for sentence in said] == ["wild", "mild"]


def allocation(right: float, live: float) -> dict[str, Any]:
    return {"alloc.rate.norm": right, "alloc.live.norm": live}


def test_a_figure_that_misses_threads_that_ended_is_told_with_the_right_one(
    make_score: Make, say: Say
) -> None:
    said = say(
        make_score("baseline[NONE]", 1e-8, metrics=allocation(0.001, 0.002)),
        make_score("inline[NONE]", 5e-5, metrics=allocation(1_000_000, 1_000_100)),
        make_score("separate[NONE]", 3e-4, metrics=allocation(1_007_000, 5_500)),
        make_score("separate[MEMORY]", 3e-4, metrics=allocation(1_007_000, 5_500)),
    )
    assert said == [
        "separate[NONE]: a difference over live threads sees 5.4 KiB of 983 KiB an operation and"
        " misses 99.5 %, for the threads that allocated have ended. In truth it allocates 0.7 %"
        " more than inline. Likewise in MEMORY."
    ]


def test_threads_that_live_on_are_not_told(make_score: Make, say: Say) -> None:
    assert say(make_score("inline[NONE]", metrics=allocation(1_000_000, 999_000))) == []
    assert say(make_score("idle[NONE]", metrics=allocation(0, 0))) == []


def test_benchmarks_of_others_are_not_held_against_each_other(
    make_score: Make, say: Say, quiet: Metrics, thrashing: Metrics
) -> None:
    (said,) = say(
        make_score("json_dumps", 5e-5, metrics=quiet(cpu=5e-5)),
        make_score("create_gc_cycles", 5e-5, metrics=thrashing(cpu=5e-5)),
    )
    assert said.startswith("create_gc_cycles: its process spent 41 % of the measured time in the")
    assert "json_dumps" not in said


def beside(make_score: Make, operation: str, slowdown: float | list[list[float]]) -> Any:
    """A row of THREADS beside which the stress threads are so much slower."""
    return make_score(
        f"{operation}[THREADS]",
        1e-8 if operation == "baseline" else 1e-6,
        values=1,
        metrics={"bystander.slowdown": slowdown},
        metadata={"scopestress_params": '{"spin": "native"}'},
    )


def test_rows_that_take_time_from_bystanders_are_told(make_score: Make, say: Say) -> None:
    (said,) = say(
        beside(make_score, "baseline", [[1.0], [1.05], [0.95]]),
        beside(make_score, "a", 1.5),
        beside(make_score, "b", 3.1),
        beside(make_score, "c", 1.1),
        beside(make_score, "d", 0.5),
    )
    assert said == (
        "THREADS: bystanders pay, too: the native threads get done 3.1 x less beside b and 1.5 x"
        " less beside a than beside baseline."
    )


def test_bystanders_that_are_slower_within_the_noise_are_not_told(
    make_score: Make, say: Say
) -> None:
    noisy = [[0.9], [4.0], [1.2]]
    assert say(beside(make_score, "baseline", 1.0), beside(make_score, "a", noisy)) == []


def test_bystanders_are_held_against_the_baseline_of_the_same_stress(
    make_score: Make, say: Say
) -> None:
    python = {"scopestress_params": '{"spin": "python"}'}
    metrics = {"bystander.slowdown": 1.0}
    baseline = make_score("baseline[THREADS]", 1e-8, metrics=metrics, metadata=python)
    assert say(baseline, beside(make_score, "a", 3.0)) == []
