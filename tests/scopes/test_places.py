"""Places that the debugging help names: which count as one, and in which modules they can be."""

import io
import re

import pytest

import scopes

pytestmark = pytest.mark.usefixtures("debugging")


def test_lines_count_as_one_place_where_file_and_function_are_the_same(without_frames):
    scope = scopes.SharedScope()
    segment = scope.allocate(64)
    source = "def take(s): return memoryview(s)\n"

    def take(file, name):
        names = {}
        exec(compile(source.replace("take", name), file, "exec"), names)
        return names[name](segment)

    found = [take("a.py", "take"), without_frames(memoryview, segment), take("b.py", "take")]
    found += [take("a.py", "other"), take("a.py", "take")]
    said = "taken at a.py:1 in take (2 times) and outside of Python code and at b.py:1 in take"
    with pytest.raises(scopes.ScopeInUseError, match=re.escape(f"{said} and elsewhere)")):
        scope.close()
    for view in found:
        view.release()
    scope.close()


@pytest.mark.parametrize("name", ["cffi", "scopes", "conte", 5, None])
def test_places_are_in_modules_of_any_name(name):
    names = {"__name__": name, "scopes": scopes}
    if name is None:
        del names["__name__"]
    exec(compile("scope = scopes.SharedScope()", "somewhere.py", "exec"), names)
    names["view"] = memoryview(names["scope"].allocate(1))
    file = io.StringIO()
    scopes.dump(file)
    assert "opened at somewhere.py:1 in <module>" in file.getvalue()
    names.pop("view").release()
    names.pop("scope").close()
