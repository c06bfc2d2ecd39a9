"""The service in this process: its own loop in a thread, workers that are threads, and a clock that only the test moves.

However busy the machine is, no deadline comes by itself.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, cast

import httpx
from serving import AT_REST, MOST_SECONDS, Running, wait_until

from optassign.assignor import register
from optassign.cli.commands.service.serve import make_settings
from optassign.cli.parser import make_parser
from optassign.formats.state import ApplicationState
from optassign.service.applications_file import ApplicationsFile
from optassign.service.http.access import Tokens
from optassign.service.http.connections import open_listener
from optassign.service.logs import collect_fields
from optassign.service.server import Service
from optassign.service.settings import check_tls
from optassign.service.workers.messages import Outcome, Spare
from optassign.service.workers.worker import Worker, WorkerDiedError, WorkerSpec, run_one_job

Place = Literal["starting", "unread", "read", "spare"]
"""Where a worker can be held: before it is ready; before it has read a job; before its spare answer; before its outcome."""
_CREWS = {5: "solvers", 10: "others"}
"""By how far they stand back; others make pages and comparisons."""
_WHOSE: contextvars.ContextVar[ServiceHere | None] = contextvars.ContextVar("whose", default=None)
_LOGGER = logging.getLogger("optassign")
_PIDS = itertools.count(1)


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still, and can be put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.still_at: float | None = time.monotonic()
        """None: it goes on, as for the last moments of the service."""
        super().__init__()

    def time(self) -> float:
        return (super().time() if self.still_at is None else self.still_at) + self.ahead


class _Places:
    """Where workers are held."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held: set[tuple[str, Place]] = set()

    def pass_by(self, worker: WorkerHere, place: Place) -> None:
        """Return at once, or when nobody is held there any more. WorkerDiedError if the worker is killed."""
        with self.changed:
            worker.at = place
            self.changed.notify_all()
            self.changed.wait_for(lambda: worker.killed or (worker.crew, place) not in self.held)
            worker.at = None
            if worker.killed:
                raise WorkerDiedError("the worker process died")


class WorkerHere(Worker):
    """A worker that does its jobs in the thread of whoever waits for it."""

    def __init__(self, spec: WorkerSpec, places: _Places) -> None:
        super().__init__(spec)
        self.crew = _CREWS[spec.niceness]
        self.at: Place | None = None
        self.killed = False
        self._places, self._pid, self._running = places, 0, False

    @property
    def pid(self) -> int | None:
        return self._pid or None

    @property
    def alive(self) -> bool:
        return self._running and not self.killed

    def start(self) -> None:
        self._pid, self._running, self.killed = next(_PIDS), True, False
        for name, place in self._spec.registered:
            register(name, place, replace=True)  # this process has read the options, too
        self._places.pass_by(self, "starting")

    def run_job(
        self,
        job: Any,
        seconds: float,
        hand_on: Callable[[Outcome], None],
        note_read: Callable[[], None] = lambda: None,
        note_spare: Callable[[Spare], None] = lambda spare: None,
    ) -> Any:
        self._places.pass_by(self, "unread")
        said: list[Any] = []

        class Pipe:
            @staticmethod
            def send(what: Any) -> None:
                if what == "read":
                    note_read()
                    self._places.pass_by(self, "read")
                    return
                if self.killed:
                    raise WorkerDiedError("the worker process died")
                if isinstance(what, Spare):
                    note_spare(what)
                    self._places.pass_by(self, "spare")
                    return
                said.append(what)
                if len(said) == 1:
                    hand_on(what)

        try:
            run_one_job(cast(Any, Pipe), job)
        except SystemExit:
            self._running = False
            raise WorkerDiedError("the worker process died") from None
        return said[1]

    def kill(self) -> None:
        with self._places.changed:
            self.killed = True
            self._places.changed.notify_all()

    def stop(self) -> None:
        self._running = False

    def discard(self) -> None:
        self.kill()
        self.stop()


class _Log(logging.Handler):
    """What one service logs; what its threads beside the loop log goes to every service that runs."""

    def __init__(self, service: ServiceHere) -> None:
        super().__init__(logging.INFO)
        self._service = service

    def emit(self, record: logging.LogRecord) -> None:
        if _WHOSE.get() in (None, self._service):
            fields = json.loads(json.dumps(collect_fields(record), default=str))
            self._service.note(fields)


class ServiceHere(Running):
    """A service in this process; its options are those of `optassign serve`.

    `held`: where its workers are held while it starts. `day`: seconds since 1970, where the clock of the day stands still.
    """

    def __init__(
        self,
        *options: str,
        verify: Any = True,
        held: tuple[tuple[str, Place], ...] = (),
        log: logging.Handler | None = None,
        day: float | None = None,
    ) -> None:
        super().__init__(options, verify)
        settings = make_settings(make_parser().parse_args(["serve", "--port", "0", *AT_REST, *options]))
        check_tls(settings)
        tokens, applications = Tokens(settings.token_file), ApplicationsFile(settings.applications_file)
        self._listener = open_listener(settings, bool(tokens))
        self._loop = _Loop()
        self._places = _Places()
        self._places.held.update(held)
        self.workers: list[WorkerHere] = []
        self._handlers = [_Log(self), *([] if log is None else [log])]
        for handler in self._handlers:
            _LOGGER.addHandler(handler)
        _LOGGER.setLevel(logging.INFO)

        def read_seconds() -> float:
            return (time.time() if day is None else day) + self._loop.ahead

        self._service = Service(settings, tokens, applications, self._make_worker, read_seconds)
        self.code: int | None = None
        self._context = contextvars.Context()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.connect()
        if not held:
            wait_until(self.is_ready)

    def _make_worker(self, spec: WorkerSpec) -> WorkerHere:
        self.workers.append(WorkerHere(spec, self._places))
        return self.workers[-1]

    def _run(self) -> None:
        self._context.run(_WHOSE.set, self)
        with self._listener, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            self.code = runner.run(self._service.run(self._listener), context=self._context)

    def note(self, event: dict[str, Any]) -> None:
        """Add an event to the log."""
        with self._new_line:
            self.log.append(event)
            self._new_line.notify_all()

    @contextmanager
    def hold(self, place: Place, crew: str = "solvers") -> Iterator[None]:
        """Hold the workers of a crew where they come by that place."""
        with self._places.changed:
            self._places.held.add((crew, place))
        try:
            yield
        finally:
            self.let_go(place, crew)

    def let_go(self, place: Place, crew: str = "solvers") -> None:
        """Hold nobody of that crew there any more."""
        with self._places.changed:
            self._places.held.discard((crew, place))
            self._places.changed.notify_all()

    def await_held(self, place: Place, crew: str = "solvers") -> WorkerHere:
        """A worker of the crew that is held there, once there is one."""

        def find() -> WorkerHere | None:
            return next((each for each in self.workers if (each.crew, each.at) == (crew, place) and not each.killed), None)

        with self._places.changed:
            assert self._places.changed.wait_for(find, MOST_SECONDS), f"nobody of the {crew} is held {place}"
            found = find()
        assert found is not None
        return found

    def await_idle(self) -> None:
        """Wait until no solver has a job: it still makes the details after it has sent an answer."""
        wait_until(lambda: self.metric("optassign_workers_busy") == 0)

    def pass_seconds(self, seconds: float) -> None:
        """Put the clocks forward, the loop's and that of the day; what the loop has to do then is done."""
        self._call(lambda: setattr(self._loop, "ahead", self._loop.ahead + seconds))
        for _ in range(10):
            self._call(lambda: None)

    def await_look(self, name: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """The newest of the events of that name, once the service has looked at its files so often."""

        def look() -> bool:
            self.pass_seconds(2)
            return len(self.events(name, **fields)) >= count

        wait_until(look)
        return self.wait_for(name, count, **fields)

    def _call(self, change: Callable[[], None]) -> None:
        done = threading.Event()

        def call() -> None:
            change()
            done.set()

        self._loop.call_soon_threadsafe(call, context=self._context)
        assert done.wait(MOST_SECONDS)

    def begin_to_stop(self) -> None:
        """Have it stop as at a signal; its clock goes on."""
        self._stopping = True
        self._call(lambda: setattr(self._loop, "still_at", None))
        self._loop.call_soon_threadsafe(self._service.stop, context=self._context)

    def stop(self) -> int | None:
        """Stop it and wait; the exit code."""
        self.client.close()
        if self._thread.is_alive() and not self._stopping:
            self.begin_to_stop()
        self._thread.join(MOST_SECONDS)
        for handler in self._handlers:
            _LOGGER.removeHandler(handler)
        assert not self._thread.is_alive(), "it does not stop"
        return self.code


@contextmanager
def run_service_here(*options: str, **settings: Any) -> Iterator[ServiceHere]:
    """A service in this process, for as long as the context lasts."""
    service = ServiceHere(*options, **settings)
    try:
        yield service
    finally:
        service.stop()


def assign_late(service: ServiceHere, state: ApplicationState | bytes, **headers: str) -> httpx.Response:
    """The answer to a request that comes after its deadline: that of greedy inside cp-sat."""
    service.await_idle()
    with service.hold("read"), ThreadPoolExecutor(1) as thread:
        response = thread.submit(service.assign, state, optassign_deadline_ms="1", **headers)
        service.await_held("read")
        service.pass_seconds(0.01)
        service.let_go("read")
        return response.result()
