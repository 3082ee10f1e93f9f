"""What holds for all tests."""

import signal

# A shell has what it starts in the background ignore Ctrl-C, which is inherited; tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
