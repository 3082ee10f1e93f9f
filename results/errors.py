"""The one exception of this package."""


class ResultsError(Exception):
    """A result file can't be read, written or trusted; the text names the file and the place."""
