"""A camera's frames in scopes: each stage has a scope of its own, frames go on to another thread.

Recorded by SCOPES_RECORD, and not by memray.
"""

import queue
import threading

import numpy as np

from scopes import ConfinedScope, Segment, SharedScope

FRAMES, HEIGHT, WIDTH = 3_000, 120, 160


def capture(frames: "queue.Queue[tuple[SharedScope, Segment] | None]") -> None:
    for number in range(FRAMES):
        scope = SharedScope()
        frame = scope.allocate(HEIGHT * WIDTH)
        np.frombuffer(frame, dtype="u1")[:: 64 + number % 64] = number % 256
        frames.put((scope, frame))
    frames.put(None)


def process(frames: "queue.Queue[tuple[SharedScope, Segment] | None]", faces: list[int]) -> None:
    while (item := frames.get()) is not None:
        shared, frame = item
        with ConfinedScope() as scope:
            half = scope.allocate(HEIGHT * WIDTH // 4)
            pixels = np.frombuffer(frame, dtype="u1").reshape(HEIGHT, WIDTH)
            np.frombuffer(half, dtype="u1")[:] = pixels[::2, ::2].ravel()
            rows = [half[at : at + WIDTH // 2] for at in range(0, len(half), WIDTH * 4)]
            features = [scope.allocate(24 + 8 * (i % 5)) for i in range(len(rows))]
            for row, feature in zip(rows, features, strict=True):
                feature[0] = max(row)
            faces.append(sum(feature[0] for feature in features))
            del pixels, rows, features, half
        del item, frame
        shared.close()


def main() -> None:
    frames: queue.Queue[tuple[SharedScope, Segment] | None] = queue.Queue(maxsize=8)
    faces: list[int] = []
    threads = [
        threading.Thread(target=capture, args=(frames,), name="camera"),
        threading.Thread(target=process, args=(frames, faces), name="worker"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
