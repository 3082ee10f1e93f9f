"""Benchmark suites, one a file, each runnable as `python -m suites.NAME`.

    scope_close      opening, filling and closing a memory scope, and what it costs to leave the
                     closing to the garbage collector
    thread_alloc     what an allocation probe sees of threads that end, and what a difference over
                     live threads makes of it
    thread_clock     reading how long a thread has kept a core busy, and how fine the answer is

Beside them, without rows:

    record           a recording of what a program does with memory; recordings/ reads and writes
                     them, and has a list of its own

A suite is a list of rows and a call of `suites.main.run`. What carries it, from the inside out:

    rows.py          a row: the lines that are timed, and how they become a loop
    parameters.py    what varies from cell to cell, by --param
    allocators.py    what a worker is given to run with an allocator; readback.py: what it has
    cells.py         a suite, and its cells: a row in a stress mode with parameters, with a name
    team.py          the threads that run a row at once, and the scope they may share
    measure.py       in the worker: one value, with the probes' window around it
    provenance.py    what the machine, the interpreter and the allocator were
    bystanders.py    what the rows took from the stress threads, once all are measured
    options.py       the command line
    runner.py        pyperf: the only file that knows its inside
    output.py        where the file goes, and the progress line
    main.py          from the command line to the table

This package imports `stress` and `results`, and is imported by neither. A worker process runs the
same files as its manager, so modules that only the manager needs are imported where it uses them.
"""
