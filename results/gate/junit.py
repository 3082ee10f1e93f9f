"""The verdict as JUnit XML, as CI servers read it: a test case a figure.

A regression is a failure, a figure that can't be told or judged is skipped, and files that can't be
compared are an error of a test case of their own.
"""

from xml.etree import ElementTree as ET

from results.gate.judge import Judged, Judgement, State
from results.gate.text import explanation, verdict

_SUITE = "gate"


def junit(judgement: Judgement) -> str:
    """The text of the file."""
    suite = ET.Element("testsuite", name=_SUITE)
    if judgement.refusals:
        case = ET.SubElement(suite, "testcase", classname=_SUITE, name="comparable", time="0")
        ET.SubElement(case, "error", message=verdict(judgement)).text = "\n".join(
            judgement.refusals
        )
    else:
        for judged in judgement.figures:
            _add(suite, judged)
    for kind in ("failure", "error", "skipped"):
        plural = kind if kind == "skipped" else f"{kind}s"
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite)))
    suite.set("time", "0")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(suite: ET.Element, judged: Judged) -> None:
    change = judged.change
    names = {"classname": change.row.name, "name": change.metric.name, "time": "0"}
    case = ET.SubElement(suite, "testcase", names)
    if judged.state is State.OK:
        return
    is_failure = judged.state is State.REGRESSION
    element = ET.SubElement(case, "failure" if is_failure else "skipped")
    element.set("message", f"{judged.state.value}: {explanation(judged)}")
