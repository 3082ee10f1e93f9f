"""Replays: a recording as a benchmark. docs/replay.md tells what is replayed, and how.

options.py   what can be varied: parameters of a cell
targets.py   what the operations are replayed against: the rows
source.py    recordings by the name they have in a table, and plans of them
replayer.py  runs a cell in a worker, in place of a loop over Python code
survey.py    what the memory looks like when the most is live
figures.py   the probe of what a replay tells beside its score
check.py     --check: what is live at the end is what was recorded
"""
