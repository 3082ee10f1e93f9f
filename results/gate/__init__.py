"""A verdict over two files for CI: regressions told from noise.

noise     the A/A noise floor of every figure: calibrated, or from the processes of a file
modality  series that lie about two values
limits    what may change: thresholds and absolute minima, from options and pyproject.toml
judge     a comparison -> a state for each figure, an exit status for all
text      the verdict for a terminal, and as Markdown
junit     the verdict for CI servers
"""
