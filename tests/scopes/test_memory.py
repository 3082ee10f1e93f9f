"""Figures of the process, the cache and its bound, and what goes back to the system."""

import pytest

import scopes
from scopes import _core

KIB, MIB = 2**10, 2**20


def open_all(explicit, count, nbytes):
    made = [explicit() for _ in range(count)]
    for scope in made:
        scope.allocate(nbytes)
    return made


def close_all(made):
    for scope in made:
        scope.close()


def test_the_figures_are_a_frozen_record():
    figures = scopes.statistics()
    assert type(figures) is scopes.Statistics
    with pytest.raises(AttributeError):
        figures.live_bytes = 1
    with pytest.raises(TypeError):
        figures[0] = 1


def test_the_figures_have_the_documented_fields():
    fields = set(dir(scopes.statistics())) - set(dir(tuple))
    expected = ["live", "peak", "deferred", "cached", "mapped", "retired"]
    assert fields >= {f"{name}_bytes" for name in expected}
    assert fields >= {"open_scopes", "pinned_slabs", "peak_exact"}


def test_the_figures_of_a_scope_are_a_frozen_record(scope):
    figures = scope.statistics()
    assert type(figures) is scopes.ScopeStatistics
    with pytest.raises(AttributeError):
        figures.live_bytes = 1


def test_the_figures_of_a_scope_follow_what_happens(scope):
    assert tuple(scope.statistics()) == (0, 0, 0, 0, None)
    segment = scope.allocate(10)
    view = memoryview(segment)
    scope.callback(bool)
    assert tuple(scope.statistics()) == (10, 1, 1, 1, None)
    view.release()
    del segment
    assert tuple(scope.statistics()) == (10, 0, 0, 1, None)


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 16 * KIB, 64 * KIB + 1, MIB])
def test_live_bytes_are_exact(scope, nbytes):
    before = scopes.statistics().live_bytes
    segments = [scope.allocate(nbytes) for _ in range(10)]
    assert scopes.statistics().live_bytes - before == 10 * nbytes
    assert scope.statistics().live_bytes == 10 * nbytes
    del segments
    assert scopes.statistics().live_bytes - before == 10 * nbytes


def test_a_part_adds_no_live_bytes(segment):
    before = scopes.statistics().live_bytes
    parts = [segment[1:3] for _ in range(10)]
    assert (scopes.statistics().live_bytes, len(parts)) == (before, 10)


def test_the_peak_is_the_highest_live(in_child):
    said = in_child("""
        import scopes
        from scopes._core import window_peak_bytes
        def both():
            return scopes.statistics().peak_bytes, window_peak_bytes(False)
        exact = scopes.statistics().peak_exact
        scopes.set_limit(None if exact else 2**62)
        peaks = [both()]
        with scopes.ConfinedScope() as scope:
            scope.allocate(1000)
            with scopes.SharedScope() as other:
                other.allocate(500)
            peaks.append(both())
            scope.allocate(499)
            peaks.append(both())
            scope.allocate(2)
        peaks.append(both())
        print(*peaks)
    """)
    assert said == "(0, 0) (1500, 1500) (1500, 1500) (1501, 1501)"


def test_the_peak_of_a_window_starts_at_what_is_live(scope):
    if not scopes.statistics().peak_exact:
        pytest.skip("without the GIL the peak is exact to 64 KiB a thread")
    live = scopes.statistics().live_bytes
    _core.window_peak_bytes(True)
    with scopes.SharedScope() as other:
        other.allocate(1000)
    scope.allocate(10)
    assert _core.window_peak_bytes(True) == live + 1000
    assert _core.window_peak_bytes(False) == live + 10
    assert _core.window_peak_bytes(0) == live + 10


def test_open_scopes_are_counted(kind):
    before = scopes.statistics().open_scopes
    made = [kind() for _ in range(5)]
    assert scopes.statistics().open_scopes - before == 5
    for scope in made:
        getattr(scope, "close", bool)()
    del made, scope
    assert scopes.statistics().open_scopes == before


def test_closing_keeps_the_memory_for_the_next_scope(explicit):
    close_all(open_all(explicit, 1, MIB))
    mapped = scopes.statistics().mapped_bytes
    for _ in range(100):
        close_all(open_all(explicit, 1, MIB))
    assert scopes.statistics().mapped_bytes == mapped


@pytest.mark.parametrize("nbytes", [64, 1000, 4096, 16 * KIB, 64 * KIB, 100_000, MIB])
@pytest.mark.parametrize("limit", [0, 100_000, 2 * MIB])
def test_the_cache_stays_within_its_limit(explicit, nbytes, limit):
    scopes.trim()
    scopes.set_cache_limit(limit)
    before = scopes.statistics()
    made = open_all(explicit, 4 * MIB // max(nbytes, 4096), nbytes)
    close_all(made)
    after = scopes.statistics()
    assert after.cached_bytes <= max(limit, before.cached_bytes)
    assert after.mapped_bytes - after.cached_bytes <= before.mapped_bytes


@pytest.mark.parametrize("nbytes", [64, 1000, 4096, 16 * KIB, 64 * KIB, MIB])
def test_trim_empties_the_cache(explicit, nbytes):
    scopes.trim()
    before = scopes.statistics()
    close_all(open_all(explicit, 50, nbytes))
    assert scopes.trim() is None
    after = scopes.statistics()
    assert (after.cached_bytes, after.mapped_bytes) == (before.cached_bytes, before.mapped_bytes)


def test_a_lower_limit_takes_effect_at_once(explicit):
    close_all(open_all(explicit, 8, MIB))
    assert scopes.statistics().cached_bytes >= 8 * MIB
    assert scopes.set_cache_limit(3 * MIB) is None
    assert scopes.statistics().cached_bytes <= 3 * MIB


def test_memory_beyond_the_limit_goes_back_at_close(explicit, resident):
    scopes.set_cache_limit(4 * MIB)
    scopes.trim()
    before = resident()
    made = [explicit() for _ in range(32)]
    for scope in made:
        scope.allocate(MIB).fill(1)
    assert resident() - before >= 30 * MIB
    close_all(made)
    assert resident() - before <= 6 * MIB


def test_without_a_cache_all_memory_goes_back_at_close(explicit, resident):
    scopes.set_cache_limit(0)
    before = resident()
    made = [explicit() for _ in range(500)]
    for scope in made:
        scope.allocate(30_000).fill(1)
    close_all(made)
    assert resident() - before <= MIB


@pytest.mark.parametrize("nbytes", [1000, 4096, 16 * KIB])
def test_scattered_slots_that_are_free_go_back_too(explicit, resident, nbytes):
    scopes.set_cache_limit(0)
    scopes.trim()
    before = resident()
    made = [explicit() for _ in range(16 * MIB // nbytes)]
    for scope in made:
        scope.allocate(nbytes).fill(1)
    kept = [scope for number, scope in enumerate(made) if number % 64 == 0]
    for number, scope in enumerate(made):
        if number % 64 != 0:
            scope.close()
    scopes.trim()
    headers = 500 * len(made)
    assert resident() - before <= 4 * MIB + headers
    assert [scope.statistics().live_bytes for scope in kept] == [nbytes] * len(kept)
    close_all(kept)


def test_scattered_slots_that_went_back_are_zeroed_and_whole_when_used_again(explicit):
    scopes.set_cache_limit(0)
    made = []
    for number in range(2000):
        scope = explicit()
        segment = scope.allocate(1000)
        segment.fill(number % 255 + 1)
        made.append((scope, segment, number % 255 + 1))
    for scope, _, _ in made[::2]:
        scope.close()
    scopes.trim()
    kept, fresh = made[1::2], []
    del made
    for _ in range(1000):
        scope = explicit()
        segment = scope.allocate(1000)
        assert bytes(segment) == bytes(1000)
        segment.fill(255)
        fresh.append(scope)
    assert all(bytes(segment) == bytes([byte]) * 1000 for _, segment, byte in kept)
    close_all(fresh)
    close_all(scope for scope, _, _ in kept)


def test_trim_zeroes_what_is_retired_and_keeps_what_is_live(scope, explicit):
    np = pytest.importorskip("numpy")
    live = scope.allocate(MIB)
    live.fill(5)
    with explicit() as other:
        array = np.ndarray(MIB, "u1", buffer=other.allocate(MIB))
        array.fill(7)
    assert set(array.tolist()) <= {0, 7}
    scopes.trim()
    assert not array.any()
    assert bytes(live) == bytes([5]) * MIB


@pytest.mark.parametrize("nbytes", [64, 4096, 64 * KIB, MIB])
def test_memory_that_a_segment_covers_is_retired_until_it_is_gone(explicit, nbytes):
    before = scopes.statistics()
    with explicit() as scope:
        segment = scope.allocate(nbytes)
    during = scopes.statistics()
    assert during.retired_bytes - before.retired_bytes >= nbytes
    assert during.pinned_slabs - before.pinned_slabs == 1
    del segment
    after = scopes.statistics()
    assert (after.retired_bytes, after.pinned_slabs) == (before.retired_bytes, before.pinned_slabs)


def test_retired_memory_is_used_by_nobody_else(explicit):
    with explicit() as scope:
        segment = scope.allocate(4096)
    repr_of_address = repr(segment).split(" at ")[1]
    others = [scopes.ImplicitScope().allocate(4096) for _ in range(100)]
    assert repr_of_address not in [repr(other).split(" at ")[1] for other in others]


@pytest.mark.parametrize(
    ("nbytes", "error", "message"),
    [
        (-1, ValueError, "nbytes must be 0 or more, found -1"),
        (None, TypeError, "'NoneType' object cannot be interpreted as an integer"),
        (1.5, TypeError, "'float' object cannot be interpreted as an integer"),
    ],
)
def test_a_bad_cache_limit_is_refused(whole, nbytes, error, message):
    with pytest.raises(error, match=whole(message)):
        scopes.set_cache_limit(nbytes)


def test_the_largest_cache_limit_keeps_all(explicit):
    scopes.set_cache_limit(2**63 - 1)
    close_all(open_all(explicit, 4, MIB))
    assert scopes.statistics().cached_bytes >= 4 * MIB


def test_the_environment_sets_the_first_cache_limit(in_child):
    code = """
        import scopes
        made = [scopes.ConfinedScope() for _ in range(8)]
        for scope in made:
            scope.allocate(2**20)
        for scope in made:
            scope.close()
        print(scopes.statistics().cached_bytes <= 2**20)
    """
    limits = {"1048576": "True", "0": "True", "": "False", "104857600": "False"}
    found = {n: in_child(code, env={"SCOPES_CACHE_LIMIT": n}) for n in limits}
    assert found == limits


@pytest.mark.parametrize("text", ["many", "-1", "1.5", "64MiB", " "])
def test_an_environment_that_is_no_number_of_bytes_is_named(in_child, text):
    assert (
        in_child(
            """
        try:
            import scopes
        except ValueError as error:
            print(error)
    """,
            env={"SCOPES_CACHE_LIMIT": text},
        )
        == f'SCOPES_CACHE_LIMIT must be a number of bytes, found "{text}"'
    )


def test_setting_and_trimming_return_nothing_and_take_what_is_documented():
    assert [scopes.set_limit(None), scopes.set_cache_limit(64 * MIB), scopes.trim()] == [None] * 3
    with pytest.raises(TypeError):
        scopes.trim(1)
    with pytest.raises(TypeError):
        scopes.statistics(1)
