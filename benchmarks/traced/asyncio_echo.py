"""Clients talk to a server that echoes, all in one event loop, over sockets."""

import asyncio
import contextlib

CLIENTS, MESSAGES = 24, 40


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def talk(port: int, number: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = 0
    for message in range(MESSAGES):
        writer.write(b"%d:%s\n" % (number, b"x" * (message * number % 900)))
        await writer.drain()
        received += len(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return received


async def main() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.TaskGroup() as clients:
        for number in range(CLIENTS):
            clients.create_task(talk(port, number))
    server.close()
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
