"""What the figures say, in plain sentences; nothing where they don't say it."""

from results.model import Results


def words(results: Results) -> list[str]:
    """A sentence a finding, the most telling first; empty if there is none."""
    return []
