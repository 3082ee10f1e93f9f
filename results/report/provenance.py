"""Where the figures come from: the facts in the metadata of files, and in which they differ."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from results.model import Results
from results.pauses import PAUSES_KEY
from results.samples import CLOCK_KEY, SAMPLES_KEY
from results.schema import METRICS_KEY, PARAMS_KEY, SCHEMA_KEY
from results.timeline import TIMELINE_KEY

_PREFIX = "scopestress_"
# Of pyperf, where ours says it better or not at all.
_OTHERS = (
    ("cpu_count", "CPUs"),
    ("cpu_affinity", "CPU affinity"),
    ("cpu_freq", "CPU frequency"),
    ("python_version", "python"),
    ("python_hash_seed", "hash seed"),
    ("platform", "kernel"),
    ("date", "date"),
    ("perf_version", "pyperf"),
    ("description", "description"),
)
# For programs: what they say stands elsewhere in the page.
_LEFT_OUT = (
    *(SCHEMA_KEY, PARAMS_KEY, METRICS_KEY, CLOCK_KEY),
    *(PAUSES_KEY, SAMPLES_KEY, TIMELINE_KEY),
)
_HOOKS = f"{METRICS_KEY}."
_WORDS = {"gc": "GC", "gil": "GIL", "cpu": "CPU", "thp": "THP", "gc_thresholds": "GC thresholds"}


def facts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """What a file says of interpreter, collector, allocators and machine, by name, in words."""
    own = {
        _name(key.removeprefix(_PREFIX)): str(value)
        for key, value in metadata.items()
        if key.startswith(_PREFIX) and key not in _LEFT_OUT and not key.startswith(_HOOKS)
    }
    others = {name: str(metadata[key]) for key, name in _OTHERS if metadata.get(key)}
    return {**own, **{name: value for name, value in others.items() if name not in own}}


def html(files: Sequence[Results], names: Sequence[str]) -> str:
    """A table with a line a fact and a column a file; lines that differ say so in a word."""
    by_file = [facts(results.metadata) for results in files]
    rows = []
    for fact in dict.fromkeys(name for known in by_file for name in known):
        values = [known.get(fact, "") for known in by_file]
        differs = " <strong>differs</strong>" if len(set(values)) > 1 else ""
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        rows.append(f'<tr><th scope="row">{escape(fact)}{differs}</th>{cells}</tr>')
    if not rows:
        return "<p>The file says nothing of where it was measured.</p>"
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return (
        f'<table class="facts"><thead><tr><th scope="col">fact</th>{heads}</tr></thead>'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table>"
    )


def _name(key: str) -> str:
    return _WORDS.get(key, key.replace("_", " "))
