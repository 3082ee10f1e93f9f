"""Images of several sizes are made, blurred, cut, grown and dropped as NumPy arrays."""

import numpy as np

FRAMES, KEPT = 400, 12


def blurred(frame: np.ndarray) -> np.ndarray:
    rows = (frame[:-2] + frame[1:-1] + frame[2:]) / 3
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 3


def main() -> None:
    random = np.random.default_rng(1)
    kept: list[np.ndarray] = []
    for number in range(FRAMES):
        height, width = 48 + number * 37 % 160, 64 + number * 53 % 240
        frame = random.random((height, width), dtype=np.float32)
        small = blurred(frame)[::2, ::2].copy()
        levels = np.histogram(small, bins=32)[0]
        kept.append(np.concatenate([small[:8].ravel(), levels.astype(np.float32)]))
        if len(kept) > KEPT:
            kept[0] = np.resize(kept[0], kept[0].size * 2)
            del kept[number % KEPT]
        tiles = np.array_split(frame, 6)
        np.stack([tile.mean(axis=0) for tile in tiles]).sort(axis=0)


if __name__ == "__main__":
    main()
