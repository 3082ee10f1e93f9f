"""Threads that run a row at once, with scopes of their own and with one that they share."""

import threading
from dataclasses import replace

import pytest

from scopes import SharedScope
from suites.rows import BYTES_PER_SCOPE, OPERATIONS_PER_SCOPE, Row, Sharing, Work
from suites.scope_close import ROWS
from suites.team import Team

seen: list[tuple[int, object]] = []
"""What the threads of a row did: who, and with what."""

rendezvous: list[threading.Barrier] = []
"""Where the threads of a row wait for each other: for ever, if they ran in turn."""

NOTING = Row(
    "noting",
    "notes its thread",
    setup=f"from {__name__} import seen; from threading import get_ident",
    body="seen.append((get_ident(), None))",
    sharing=Sharing("shared.scope = object()", "seen.append((get_ident(), scope))", "pass"),
)
SHAREABLE = [row for row in ROWS if row.sharing]


@pytest.fixture(autouse=True)
def forget():
    seen.clear()


def run(row, work, loops):
    """One run of a team, from its start to its end; returns its seconds."""
    team = Team(row, work)
    team.start()
    try:
        team.prepare(loops)
        return team.run()
    finally:
        team.close()


def test_one_thread_is_the_calling_one():
    threads = threading.active_count()
    assert run(NOTING, Work(), 5) > 0
    assert seen == [(threading.get_ident(), None)] * 5
    assert threading.active_count() == threads


def test_every_thread_does_all_operations_and_the_calling_one_is_among_them():
    assert run(NOTING, Work(threads_measured=3), 50) > 0
    counts = {ident: seen.count((ident, None)) for ident, _ in seen}
    assert len(counts) == 3
    assert threading.get_ident() in counts
    assert set(counts.values()) == {50}


def test_the_threads_of_a_team_end_with_it():
    before = threading.active_count()
    run(NOTING, Work(threads_measured=4), 1)
    assert threading.active_count() == before


def test_a_team_that_was_never_started_can_be_closed():
    Team(NOTING, Work(threads_measured=2)).close()


def test_the_threads_run_at_once():
    rendezvous[:] = [threading.Barrier(3)]
    setup = f"from {__name__} import rendezvous\nwait = rendezvous[0].wait"
    row = replace(NOTING, setup=setup, body="wait()")
    assert run(row, Work(threads_measured=3), 10) > 0


def test_a_run_lasts_from_the_first_start_to_the_last_end():
    slow = replace(NOTING, setup="", body="sum(range(50_000))")
    alone = min(run(slow, Work(), 20) for _ in range(3))
    assert run(slow, Work(threads_measured=2), 20) > 0.5 * alone


def test_an_error_in_another_thread_is_raised():
    row = replace(
        NOTING,
        setup="from threading import current_thread, main_thread",
        body="1 / (current_thread() is main_thread())",
    )
    with pytest.raises(ZeroDivisionError):
        run(row, Work(threads_measured=3), 1)


def test_an_error_beside_a_shared_scope_is_not_hidden_by_its_echo():
    sharing = Sharing("shared.scope = None", "1 / (current_thread() is main_thread())", "pass")
    row = replace(
        NOTING, setup="from threading import current_thread, main_thread", sharing=sharing
    )
    with pytest.raises(ZeroDivisionError):
        run(row, Work(threads_measured=3, scope="shared"), 2)


def test_threads_share_a_scope_and_get_another_one_together():
    work = Work(size=BYTES_PER_SCOPE // 4, threads_measured=2, scope="shared")
    assert work.operations_per_scope == 2
    run(NOTING, work, 3)
    scopes = list(dict.fromkeys(scope for _, scope in seen))
    assert len(scopes) == 3
    for scope in scopes:
        idents = [ident for ident, used in seen if used is scope]
        assert sorted(map(idents.count, set(idents))) == [2, 2]


def test_a_shared_scope_is_closed_once_its_threads_are_done():
    row = replace(
        next(row for row in ROWS if row.name == "shared_close"),
        sharing=Sharing(
            "shared.scope = SharedScope(); seen.append((0, shared.scope))",
            "memory = scope.allocate(size)",
            "shared.scope.close()",
        ),
        setup=f"from scopes import SharedScope\nfrom {__name__} import seen",
    )
    run(row, Work(threads_measured=2, scope="shared"), 2)
    assert [type(scope) for _, scope in seen] == [SharedScope] * 3
    assert all(scope.closed for _, scope in seen)


@pytest.mark.parametrize(
    ("size", "threads", "operations"),
    [(1, 1, OPERATIONS_PER_SCOPE), (1 << 20, 1, 64), (1 << 20, 4, 16), (1 << 30, 4, 1)],
)
def test_a_shared_scope_holds_as_much_as_is_kept_warm(size, threads, operations):
    assert Work(size, threads_measured=threads).operations_per_scope == operations


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("row", SHAREABLE, ids=lambda row: row.name)
def test_every_row_that_can_share_runs_so(row, threads):
    assert run(row, Work(threads_measured=threads, scope="shared"), 2) > 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_runs_in_several_threads(row):
    assert run(row, Work(threads_measured=3, collect_every=2), 3) > 0
