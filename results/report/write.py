"""A report, or a chart of it, into a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from results.errors import ResultsError
from results.files import check_writable, write_bytes, write_text
from results.model import Results
from results.report.charts import CHARTS, MOST_PANELS
from results.report.page import file_names, page
from results.report.panel import picture
from results.report.style import require_matplotlib

FORMATS = {"html": (".html", ".htm"), "png": (".png",), "svg": (".svg",)}
"""What a file is -> the endings its name may have."""


def check_report(path: Path, format: str = "html") -> None:
    """ResultsError if a report can't be written there, to be known before it is drawn.

    The name must end as the format does: results that are named by mistake are not overwritten.
    """
    require_matplotlib()
    if path.suffix not in FORMATS[format]:
        raise ResultsError(f"{path}: expected a name that ends in {' or '.join(FORMATS[format])}")
    check_writable(path, overwrite=True)


def write_report(path: Path, files: Sequence[Results]) -> None:
    """Write the page of these files. An older one is replaced, at once."""
    check_report(path)
    write_text(path, page(files), overwrite=True)


def write_chart(path: Path, files: Sequence[Results], chart: str, format: str) -> None:
    """Write the panels of one chart as one picture: those of each file after the other's."""
    check_report(path, format)
    names = file_names(files)
    panels = [
        replace(panel, title=f"{name}, {panel.title}" if len(files) > 1 else panel.title)
        for results, name in zip(files, names, strict=True)
        for panel in CHARTS[chart].panels(results)
    ]
    if not panels:
        raise ResultsError(
            f"{', '.join(names)}: nothing to show: {chart} needs {CHARTS[chart].needs}"
        )
    if len(panels) > MOST_PANELS:
        raise ResultsError(
            f"expected at most {MOST_PANELS} panels in a picture, found {len(panels)}; choose with"
            " --only"
        )
    write_bytes(path, picture(panels, format, ", ".join(names)), overwrite=True)
