"""`optassign serve`: everything put together, started, and stopped in good order."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import uvicorn

from optassign import __version__
from optassign.recordings.files import newest_answers
from optassign.service.app import PAGES, make_app
from optassign.service.comparing import Comparing
from optassign.service.http.guard import Guard
from optassign.service.logs import event, set_up
from optassign.service.memory import Memory, Remembered
from optassign.service.metrics import Metrics
from optassign.service.rebalances import Rebalances
from optassign.service.recorder import Recorder
from optassign.service.settings import Settings, bind, check_tls
from optassign.service.workers.crew import Crew
from optassign.service.workers.worker import WorkerSpec

__all__ = ["serve"]

_KEEP_ALIVE = 1800
"""Seconds: longer than a JVM keeps idle connections (1,200 at most), so that it is the one to close them."""
_FLUSH = 10.0
"""Seconds for recordings that wait to be written when the service stops."""


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT. The exit code: 0, or 1 if a second signal cut it short.

    SettingsError, before anything is started, for settings that cannot be.
    """
    check_tls(settings)
    listener = bind(settings)
    with listener:
        set_up(settings.log_format)
        return asyncio.run(_Service(settings).run(listener))


class _Server(uvicorn.Server):
    """Uvicorn's, but a signal first lets the service finish what is under way."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(config)
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops, a second one at once."""
        self._loop.call_soon_threadsafe(self._signalled, signal.Signals(sig).name)

    def _signalled(self, name: str) -> None:
        if self._stopping is not None:
            self.force_exit = self.should_exit = True
            return
        event("stopping", signal=name)
        self._stopping = self._loop.create_task(self._stop_then_exit())

    async def _stop_then_exit(self) -> None:
        await self._stop()
        self.should_exit = True


class _Service:
    """The parts, and how they depend on each other."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        limits = settings.limits
        self._metrics = Metrics(__version__, limits.applications)
        self._recorder: Recorder | None = None
        if settings.recordings is not None:
            self._recorder = Recorder(settings.recordings, settings.keep_days, settings.keep_bytes, self._metrics)
        self._memory = Memory(limits.applications)
        # Solvers stand back, so that neither the loop nor greedy waits for a processor.
        self._solvers = Crew("solvers", settings.workers, WorkerSpec(settings.assignor, settings.log_format, niceness=5))
        self._reserve = Crew("reserve", 1, WorkerSpec("greedy", settings.log_format))
        self._comparing = Comparing(settings.log_format)
        self._rebalances = Rebalances(self._solvers, self._reserve, self._memory, self._metrics, self._recorder, limits)
        app = make_app(settings, self._rebalances, self._comparing, self._metrics, self._why_not_ready)
        self._guard = Guard(app, token=settings.token, most_in_flight=limits.in_flight, metrics=self._metrics, pages=PAGES)
        self._watch()

    async def run(self, listener: socket.socket) -> int:
        """Serve on the socket until a signal."""
        settings = self._settings
        self._solvers.start()
        self._reserve.start()
        await asyncio.to_thread(self._restore_memory)
        if self._recorder is not None:
            self._recorder.start()
        config = uvicorn.Config(
            self._guard,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=5,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
        server = _Server(config, self._finish)
        self._say_where(listener)
        await server.serve(sockets=[listener])
        if server.force_exit:
            event("stopped", logging.WARNING, note="a second signal: what was under way is lost")
        await self._solvers.close()
        await self._reserve.close()
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.stop, 0.0 if server.force_exit else _FLUSH)
        if not server.force_exit:
            event("stopped")
        return 1 if server.force_exit else 0

    async def _finish(self) -> None:
        """Take nothing new, finish what is under way."""
        self._guard.draining = True
        self._comparing.stop()
        await self._guard.until_idle()
        await self._rebalances.finish(_FLUSH)

    def _restore_memory(self) -> None:
        """What was remembered before a restart, from the newest recordings."""
        folder = self._settings.recordings
        if folder is None:
            return
        try:
            recordings = newest_answers(folder, self._settings.limits.applications)
        except OSError as error:
            event("memory_lost", logging.WARNING, folder=str(folder), why=error.strerror or str(error))
            return
        for recording in reversed(recordings):
            answer = recording.assignment.model_dump_json().encode()
            self._memory.put(recording.application or "", Remembered(recording.answered_at, answer, -1))
        event("memory_restored", applications=len(self._memory))

    def _why_not_ready(self) -> str | None:
        if self._guard.draining:
            return "the service is shutting down"
        if not self._solvers.warm or not self._reserve.warm:
            return "no worker is warm"
        return None

    def _watch(self) -> None:
        watch = self._metrics.watch
        watch("queue_length", "Rebalances that wait for a worker", lambda: self._solvers.waiting + self._reserve.waiting)
        watch("in_flight", "Requests that are read or answered", lambda: self._guard.in_flight)
        watch("workers_warm", "Workers that can take jobs or have one", lambda: self._solvers.warm)
        watch("workers_busy", "Workers with a job", lambda: self._solvers.busy)
        watch("workers_replaced", "Workers that died", lambda: self._solvers.replaced + self._reserve.replaced)
        watch("remembered_applications", "Applications whose last answer is remembered", lambda: len(self._memory))

    def _say_where(self, listener: socket.socket) -> None:
        settings = self._settings
        host, port = listener.getsockname()[:2]
        scheme = "http" if settings.tls_cert is None else "https"
        event(
            "listening",
            url=f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}",
            version=__version__,
            assignor=settings.assignor,
            workers=settings.workers,
            token=settings.token is not None,
            recordings=None if settings.recordings is None else str(settings.recordings),
        )
