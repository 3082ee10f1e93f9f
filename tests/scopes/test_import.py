"""Importing scopes: what it needs, and what it says where that is missing."""

import sysconfig

import pytest


def test_importing_scopes_imports_neither_numpy_nor_cffi(in_child):
    assert (
        in_child("""
        import sys, scopes
        with scopes.ConfinedScope() as scope:
            bytes(scope.allocate(10)[1:5].toreadonly())
        print({"numpy", "cffi", "ctypes", "stress", "results", "suites"} & set(sys.modules))
    """)
        == "set()"
    )


def test_a_missing_extension_is_told_with_how_to_build_it(in_child):
    assert in_child("""
        import sys
        class Missing:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "scopes._core":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.meta_path.insert(0, Missing)
        try:
            import scopes
        except ImportError as error:
            print(error)
    """) == (
        "the compiled part of scopes, scopes._core, is missing: build it with 'pip install .' or, "
        "in a checkout, 'python setup.py build_ext --inplace'; both need a C compiler and the "
        "headers of Python"
    )


def test_another_module_that_is_missing_is_told_as_it_is(in_child):
    assert (
        in_child("""
        import sys
        class Missing:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "scopes._core":
                    raise ModuleNotFoundError("No module named 'other'", name="other")
        sys.meta_path.insert(0, Missing)
        try:
            import scopes
        except ImportError as error:
            print(error)
    """)
        == "No module named 'other'"
    )


def test_other_systems_are_told_what_is_missing(in_child):
    assert in_child("""
        import sys
        sys.platform = "darwin"
        try:
            import scopes
        except ImportError as error:
            print(error)
    """) == (
        "scopes supports Linux, found 'darwin': its memory core needs Linux's "
        "madvise(MADV_DONTNEED), which zeroes pages, and private anonymous mmap"
    )


@pytest.mark.parametrize("isolated", [False, True], ids=["the same GIL", "its own GIL"])
def test_another_interpreter_of_the_process_is_refused(in_child, in_another_interpreter, isolated):
    # Isolated ones have a GIL of their own from Python 3.12 on.
    said = in_child(
        in_another_interpreter(
            "try: import scopes\nexcept ImportError as error: print(error)", isolated=isolated
        )
    )
    assert said in (
        "scopes works in the main interpreter only: its memory belongs to the process",
        "module scopes._core does not support loading in subinterpreters",
    )


def test_each_failed_python_allocation_is_a_memory_error_and_no_more(in_child):
    said = in_child("""
        import gc
        try:
            from _testcapi import set_nomemory, remove_mem_hooks
        except ImportError:
            print("nothing failed otherwise")
            raise SystemExit
        import scopes

        def life():
            with scopes.ConfinedScope(limit=10_000, exports="defer") as scope:
                segment = scope.allocate(100)
                scope.callback(bool, segment)
                scope.adopt(4096, 0, bool)
                part = segment[3:9]
                part[0:2] = b"ab"
                view = memoryview(part)
                with part.pin():
                    scope.statistics()
                repr(scope), repr(segment)
                segment == b"abc"
                held = scopes.ImplicitScope(owner=life).allocate(10)
                held.copy_from(view)
                try:
                    scope.allocate(20_000)
                except scopes.ScopeMemoryError:
                    pass
                return [scopes.SharedScope() for _ in range(300)]

        def close(made):
            for scope in made or ():
                scope.close()

        close(life())
        gc.disable()  # the collector tells of its own failures on stderr
        failed = 0
        for start in range(1, 400):
            made = None
            set_nomemory(start, start + 1)
            try:
                made = life()
            except MemoryError:
                failed += 1
            finally:
                remove_mem_hooks()
            close(made)
        del made
        assert failed > 5, failed
        gc.collect()
        assert scopes.statistics().deferred_bytes == 0
        print("nothing failed otherwise")
    """)
    assert said == "nothing failed otherwise"


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter always has a GIL"
)
def test_importing_leaves_the_gil_off(in_child):
    said = in_child("import scopes, sys; print(sys._is_gil_enabled())", "-W", "error", "-S")
    assert said == "False"
