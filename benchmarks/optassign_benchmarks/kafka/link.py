"""A link to a port of this machine that can be slow or cut: the network between a client and a broker."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

_CHUNK = 1 << 16


class Link:
    """Passes on what comes in at `port` to another port of the loopback interface, both ways."""

    def __init__(self, target: int, port: int) -> None:
        """`target`: the port of the server; `port`: that of the clients."""
        self.port = port
        self.delay = 0.0
        """Seconds that each chunk waits, in each direction."""
        self._target = target
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def cut(self) -> None:
        """Close all connections, and each new one at once, until `heal`."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._close_all)

    def heal(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    def close(self) -> None:
        """End the link for good."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)

    async def _end(self) -> None:
        self._server.close()
        self._close_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
        self._writers -= {writer, back}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy until the end; a chunk waits without holding up the next one."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            with suppress(OSError):
                while chunk := await reader.read(_CHUNK):
                    waiting.put_nowait((self._loop.time() + self.delay, chunk))
            waiting.put_nowait((0.0, b""))

        async def write() -> None:
            with suppress(OSError):
                while True:
                    due, chunk = await waiting.get()
                    if not chunk:
                        break
                    if (left := due - self._loop.time()) > 0:
                        await asyncio.sleep(left)
                    writer.write(chunk)
                    await writer.drain()
            writer.close()

        await asyncio.gather(read(), write())

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
