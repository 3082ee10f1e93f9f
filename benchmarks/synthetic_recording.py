"""Makes a recording of a program that never ran, for measuring the replay.

    python benchmarks/synthetic_recording.py -o DIR [--operations N] [--threads N] ...

A hundred million operations take 3.2 GB of disk and no more memory than one million.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from suites.recordings.format import RecordingError
from suites.recordings.synthetic import Hot, ScopeLives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--operations", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--live", type=int, default=1000, metavar="N", help="objects at once")
    parser.add_argument("--crossing", type=float, default=0.0, help="share of frees by others")
    parser.add_argument("--regrown", type=float, default=0.0, help="share of reallocations")
    parser.add_argument("--scopes", action="store_true", help="lives of scopes, with times")
    args = parser.parse_args()
    if args.scopes:
        recording = ScopeLives(lives=args.operations // 13, threads=args.threads)
    else:
        recording = Hot(args.operations, args.live, args.threads, args.crossing, args.regrown)
    try:
        recording.write(args.output)
    except RecordingError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
