"""What a command tells the shell."""

OK = 0
REGRESSION = 1
"""Only of `gate`: something got worse."""
BAD_INPUT = 2
"""A file or an argument that can't be used."""
NOT_COMPARABLE = 3
"""Measured under other circumstances, by `compare` and `gate`."""
TOO_NOISY = 4
"""Only of `gate`: nothing can be said."""
INTERRUPTED = 130
"""Ctrl-C, as shells have it: 128 and the number of SIGINT."""
