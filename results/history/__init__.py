"""Many files as points in time: a figure over commits.

points    files -> points, by date, with the commit of each
changes   where a series changes its level
text      a table with a sparkline a row
picture   the same as PNG or SVG
asv       for airspeed velocity
action    for github-action-benchmark
"""
