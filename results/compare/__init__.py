"""Files against each other: what changed, by how much, and whether it is more than noise.

series         a figure of a row, one number a process
inference      Welch's test, Fieller's interval, Holm's correction
comparability  what must be alike before figures may be compared
comparison     two files -> changes
layout         changes -> sub-tables
text           sub-tables -> text and Markdown
exact          changes -> CSV and JSON
"""
