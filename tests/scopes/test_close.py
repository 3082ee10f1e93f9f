"""close(): states, what is refused in each, and what goes back."""

import gc

import pytest

import scopes


def test_a_new_scope_is_open(scope):
    assert scope.closed is False


def test_close_returns_nothing_and_closes(explicit):
    scope = explicit()
    assert scope.close() is None
    assert scope.closed is True


def test_a_second_close_does_nothing(explicit):
    scope = explicit()
    ran = []
    scope.callback(ran.append, 1)
    scope.close()
    assert scope.close() is None
    assert ran == [1]


def test_close_gives_the_bytes_back(explicit):
    before = scopes.statistics()
    scope = explicit()
    segment = scope.allocate(1000)
    scope.close()
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)
    assert (scope.statistics().live_bytes, len(segment)) == (0, 1000)


def test_an_implicit_scope_has_no_close_and_no_with():
    scope = scopes.ImplicitScope()
    found = [name for name in ("close", "__enter__", "__exit__") if hasattr(scope, name)]
    assert (found, callable(scope)) == ([], False)


@pytest.mark.parametrize("name", ["close", "closed", "kind", "owner", "allocate", "nothing"])
def test_attributes_can_not_be_set(scope, name):
    with pytest.raises(AttributeError):
        setattr(scope, name, 1)


CLOSED_SCOPE = {
    "allocate": lambda scope: scope.allocate(1),
    "adopt": lambda scope: scope.adopt(1, 1),
    "callback": lambda scope: scope.callback(print),
    "with": lambda scope: scope.__enter__(),
}


@pytest.mark.parametrize("use", CLOSED_SCOPE.values(), ids=CLOSED_SCOPE)
def test_a_closed_scope_refuses(explicit, whole, use):
    scope = explicit()
    scope.close()
    message = f"the {scope.kind} scope at ADDRESS is closed"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        use(scope)


@pytest.mark.parametrize("use", CLOSED_SCOPE.values(), ids=CLOSED_SCOPE)
def test_a_closing_scope_refuses(explicit, whole, use):
    scope = explicit()
    scope.callback(use, scope)
    message = f"the {scope.kind} scope at ADDRESS is closing"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        scope.close()
    assert scope.closed


SEGMENT = {
    "read": lambda s: s[0],
    "read last": lambda s: s[-1],
    "write": lambda s: s.__setitem__(0, 1),
    "slice": lambda s: s[0:1],
    "empty slice": lambda s: s[0:0],
    "write slice": lambda s: s.__setitem__(slice(0, 1), b"a"),
    "fill": lambda s: s.fill(1),
    "copy_from": lambda s: s.copy_from(b"a"),
    "copy_from nothing": lambda s: s.copy_from(b""),
    "copy of it": lambda s: scopes.ImplicitScope().allocate(99).copy_from(s),
    "==": lambda s: s == b"",
    "!=": lambda s: s != b"",
    "== itself": lambda s: s == s,
    "in": lambda s: 1 in s,
    "iteration": lambda s: list(s),
    "reversed": lambda s: list(reversed(s)),
    "toreadonly": lambda s: s.toreadonly(),
    "pin": lambda s: s.pin().__enter__(),
    "memoryview": memoryview,
    "bytes": bytes,
}


@pytest.mark.parametrize("use", SEGMENT.values(), ids=SEGMENT)
def test_a_segment_of_a_closed_scope_refuses(explicit, whole, use):
    with explicit() as scope:
        segment = scope.allocate(16)
    message = f"the {scope.kind} scope at ADDRESS is closed"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        use(segment)


def test_a_segment_of_a_closed_scope_still_tells_what_it_is(explicit):
    with explicit() as scope:
        segment = scope.allocate(16)
    assert (len(segment), segment.nbytes, segment.readonly) == (16, 16, False)
    assert segment.scope is scope


@pytest.mark.parametrize("name", ["memoryview", "pin", "bytes"])
def test_a_closing_scope_gives_no_export(explicit, whole, name):
    scope = explicit()
    scope.callback(SEGMENT[name], scope.allocate(16))
    message = f"the {scope.kind} scope at ADDRESS is closing"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        scope.close()


def test_callbacks_read_and_write_the_memory(explicit):
    seen = []
    with explicit() as scope:
        segment = scope.allocate(4)
        scope.callback(lambda: seen.append(segment[0]))
        scope.callback(lambda: segment.__setitem__(0, segment[0] + 1))
        segment[0] = 7
    assert seen == [8]


def test_close_from_a_callback_returns_at_once(explicit):
    scope = explicit()
    seen = []
    scope.callback(seen.append, "last")
    scope.callback(lambda: seen.append((scope.close(), scope.closed)))
    scope.close()
    assert seen == [(None, True), "last"]


def test_close_with_an_export_raises_and_has_done_nothing(explicit):
    ran = []
    scope = explicit()
    segment = scope.allocate(16)
    scope.callback(ran.append, 1)
    view = memoryview(segment)
    with pytest.raises(scopes.ScopeInUseError):
        scope.close()
    segment[0] = 5
    assert (scope.closed, ran, view[0], len(scope.allocate(1))) == (False, [], 5, 1)
    view.release()
    scope.close()
    assert (scope.closed, ran) == (True, [1])


def test_the_message_of_close_counts_exports_and_names_the_segment(explicit, whole):
    scope = explicit()
    segment = scope.allocate(24)
    views = [memoryview(segment) for _ in range(3)]
    message = (
        f"the {scope.kind} scope at ADDRESS can't be closed while 3 buffers or pins are alive "
        "(3 of the segment of 24 bytes at ADDRESS): "
        'release them first, or open the scope with exports="defer"'
    )
    with pytest.raises(scopes.ScopeInUseError, match=whole(message)):
        scope.close()
    del views
    scope.close()


def test_the_message_of_close_names_three_segments_at_most(explicit, whole):
    scope = explicit()
    views = [memoryview(scope.allocate(n)) for n in range(1, 6)]
    held = ", ".join(f"1 of the segment of {n} bytes at ADDRESS" for n in (5, 4, 3))
    message = (
        f"the {scope.kind} scope at ADDRESS can't be closed while 5 buffers or pins are alive "
        f'({held}, ...): release them first, or open the scope with exports="defer"'
    )
    with pytest.raises(scopes.ScopeInUseError, match=whole(message)):
        scope.close()
    del views
    scope.close()


# ---- threads -------------------------------------------------------------------------------------


WRONG_THREAD = (
    "the confined scope at ADDRESS belongs to thread NUMBER (MainThread), "
    "but thread NUMBER (other) uses it: use a SharedScope for several threads"
)
CONFINED = {
    "close": lambda scope, segment: scope.close(),
    "allocate": lambda scope, segment: scope.allocate(1),
    "adopt": lambda scope, segment: scope.adopt(1, 1),
    "callback": lambda scope, segment: scope.callback(print),
    "with": lambda scope, segment: scope.__enter__(),
    **{name: lambda scope, segment, use=use: use(segment) for name, use in SEGMENT.items()},
}


@pytest.mark.parametrize("use", CONFINED.values(), ids=CONFINED)
def test_a_confined_scope_refuses_other_threads(on_thread, whole, use):
    with scopes.ConfinedScope() as scope:
        segment = scope.allocate(16)
        with pytest.raises(scopes.WrongThreadError, match=whole(WRONG_THREAD)):
            on_thread(use, scope, segment)
        assert (scope.closed, scope.statistics().exports, len(scope.allocate(1))) == (False, 0, 1)


@pytest.mark.parametrize("use", CONFINED.values(), ids=CONFINED)
def test_a_shared_scope_takes_every_thread(on_thread, use):
    scope = scopes.SharedScope()
    segment = scope.allocate(16)
    try:
        on_thread(use, scope, segment)
    except (scopes.WrongThreadError, scopes.ScopeClosedError) as error:
        pytest.fail(f"refused: {error}")
    finally:
        scope.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_thread_that_ended_is_told_as_unknown(on_thread, whole):
    scope = on_thread(lambda: scopes.ConfinedScope(exports="defer"))
    message = (
        "the confined scope at ADDRESS belongs to thread NUMBER (unknown), "
        "but thread NUMBER (MainThread) uses it: use a SharedScope for several threads"
    )
    with pytest.raises(scopes.WrongThreadError, match=whole(message)):
        scope.close()
    del scope
    gc.collect()  # what was raised holds it in its traceback


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_confined_scope_belongs_to_a_thread_and_not_to_its_reused_ident(on_thread):
    scope = on_thread(scopes.ConfinedScope)
    refused = 0
    for _ in range(20):
        try:
            on_thread(scope.close)
        except scopes.WrongThreadError:
            refused += 1
    assert (refused, scope.closed) == (20, False)
    del scope
    gc.collect()  # what was raised holds it in its traceback


def test_closing_a_closed_confined_scope_on_another_thread_does_nothing(on_thread):
    scope = scopes.ConfinedScope()
    scope.close()
    assert on_thread(scope.close) is None


def test_closing_a_closing_confined_scope_on_another_thread_does_nothing(on_thread):
    seen = []
    with scopes.ConfinedScope() as scope:
        scope.callback(lambda: seen.append(on_thread(scope.close)))
    assert seen == [None]
