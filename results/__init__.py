"""Result files of benchmarks, and what is made of them.

A file is pyperf JSON: stock pyperf opens it, and the exact secondary figures (collector time, peak
memory, CPU time) lie in the metadata of its runs. Files describe themselves, so nothing here knows
a suite, a stress mode or a probe; any other pyperf file is read as one without secondary figures.

    errors      ResultsError, the one exception for bad files and places
    names       names of benchmarks and sizes
    histogram   times of single calls, as HdrHistogram has them, and their percentiles
    schema      what the metadata of a run holds, checked on the way in and out
    samples     the single calls of a run, and their percentiles as figures
    expand      a score with its figures -> further benchmarks that pyperf can compare
    parse       the JSON of a file -> rows
    model       Results and Row: a file in memory
    files       read, write and append: the files themselves
    statistics  means, totals and how well they are known
    units       the unit and the decimals that fit a column of numbers
    table       rows -> lines in the layout of JMH
    formats     lines -> text, CSV, Markdown, JSON
    findings    what every finding is made of
    tails       what the mean of single calls hides
    bystanders  what rows take from the stress threads
    missed      what a difference over live threads misses of what was allocated
    replays     what is particular to replays of a recording
    words       what the figures say, in plain sentences
    show        a table with its words
    typed       values of command lines
    columns     cells and sentences -> aligned text, Markdown
    compare/    files against each other: what changed and whether it is more than noise
    gate/       a verdict over two files, with the noise floors that it rests on
    history/    many files as points in time, and their export to other tools
    commands/   `python -m results COMMAND`, one file a command; exit_status is what they end with
"""
