"""Recordings: what a program did with memory, as files. docs/recording.md has the format.

    format.py      the files and the fields of an operation
    writer.py      writes a recording
    recording.py   one that was read
    loader.py      reads one, from its folder or packed
    packed.py      one as a single small file
    slots.py       what was last set on a slot, for a block of operations at once
    summary.py     what is in a recording; show.py prints it
    synthetic.py   recordings of programs that never ran

From what recorders leave to a recording:

    finish.py      when it is read first
    resolve.py     from addresses to slots
    raw.py         the file of scopes.record()
    memray_capture.py, mappings.py   the file of memray
    table.py       CSV

Recording a program with memray:

    capture.py     the process that waits for it
    tracked.py     the process that is recorded
    calibration.py what memray costs
"""
