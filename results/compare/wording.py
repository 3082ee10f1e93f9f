"""The words and numbers of a comparison."""

from collections.abc import Sequence

from results.compare.comparison import ABSENCES, Change, Side, Verdict
from results.model import Results
from results.units import Scale


def remark(change: Change) -> str:
    """What stands at the end of a line: "; 15 % better"."""
    if change.before.sample is None or change.after.sample is None:
        return ""
    if change.verdict is Verdict.SAME:
        return f"; {Verdict.SAME.value}"
    if change.change == 0:
        return "; the same"
    way = Verdict.WORSE if change.is_worse else Verdict.BETTER
    size = "from 0" if change.change is None else f"{_digits(change.change)} %"
    tested = ", not tested" if change.verdict is Verdict.UNKNOWN else ""
    return f"; {size} {way.value}{tested}"


def percent(change: float) -> str:
    """A signed relative change: "+12.3 %"."""
    return f"{_signed(change)} %"


def interval(change: Change) -> str:
    """The interval of a change: "-17 to +2.5 %"."""
    if change.interval is None:
        return "n/a" if change.change is not None else ""
    low, high = map(_signed, change.interval)
    return f"{low} to {high} %"


def figure(side: Side, scale: Scale) -> str:
    """The figure, or in its place that it is unsupported, not measurable, not recorded."""
    if side.sample is not None:
        return scale.format(side.sample.mean)
    return side.missing if side.missing in ABSENCES else "unsupported"


def origin(results: Results) -> str:
    """A file and what is worth knowing of it at a glance."""
    metadata = results.metadata
    python = metadata.get("scopestress_python") or metadata.get("python_version")
    commit = metadata.get("scopestress_commit")
    counts = sorted({len(row.values) for row in results.rows})
    many = "-".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    facts = [python, f"{many} processes", commit and f"commit {str(commit)[:12]}"]
    return f"{results.path} ({', '.join(str(fact) for fact in facts if fact)})"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names; of many the first ones and how many more."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _signed(change: float) -> str:
    digits = _digits(change)
    if change == 0 or digits.startswith("<"):
        return digits
    return f"{'+' if change > 0 else '-'}{digits}"


def _digits(change: float) -> str:
    """Per cent without sign: a decimal below 10, none above; never 0 for what is not."""
    size = abs(100 * change)
    if size >= 9.95:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 0.05 or size == 0 else "<0.1"
