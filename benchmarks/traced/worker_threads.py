"""Threads read packets and others parse them: what one allocates another one frees."""

import queue
import struct
import threading

READERS, PARSERS, PACKETS = 2, 3, 2_400


def read(number: int, packets: "queue.Queue[bytearray | None]") -> None:
    for i in range(PACKETS):
        payload = bytes(17 * (i + number) % 1400)
        packets.put(bytearray(struct.pack("!IH", i, len(payload)) + payload))


def parse(packets: "queue.Queue[bytearray | None]", results: list[dict[str, object]]) -> None:
    while (packet := packets.get()) is not None:
        number, size = struct.unpack_from("!IH", packet)
        words = [packet[at : at + 64] for at in range(6, 6 + size, 64)]
        if number % 8 == 0:
            results.append({"number": number, "size": size, "words": len(words)})


def main() -> None:
    packets: queue.Queue[bytearray | None] = queue.Queue(maxsize=64)
    results: list[dict[str, object]] = []
    readers = [threading.Thread(target=read, args=(i, packets)) for i in range(READERS)]
    parsers = [threading.Thread(target=parse, args=(packets, results)) for _ in range(PARSERS)]
    for thread in readers + parsers:
        thread.start()
    for thread in readers:
        thread.join()
    for _ in parsers:
        packets.put(None)
    for thread in parsers:
        thread.join()


if __name__ == "__main__":
    main()
