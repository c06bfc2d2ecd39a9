"""The service in this process: its loop in a thread, threads as workers, and a clock that only the test advances.

No deadline passes by itself, even on a busy machine.
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
"""Places at which a worker can be held: before it is ready, before it has read a job, before its spare answer, before its
outcome."""
_CREWS = {5: "solvers", 10: "others"}
"""Niceness → crew; the others make pages and comparisons."""
_WHOSE: contextvars.ContextVar[ServiceHere | None] = contextvars.ContextVar("whose", default=None)
_LOGGER = logging.getLogger("optassign")
_PIDS = itertools.count(1)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still until a test advances it."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.still_at: float | None = time.monotonic()
        """The time at which the clock stands; None if it runs, as during the shutdown of the service."""
        super().__init__()

    def time(self) -> float:
        return (super().time() if self.still_at is None else self.still_at) + self.ahead


class _Places:
    """The places at which workers are held."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held: set[tuple[str, Place]] = set()

    def pass_by(self, worker: WorkerHere, place: Place) -> None:
        """Return when no worker is held at the place. WorkerDiedError if the worker is killed."""
        with self.changed:
            worker.at = place
            self.changed.notify_all()
            self.changed.wait_for(lambda: worker.killed or (worker.crew, place) not in self.held)
            worker.at = None
            if worker.killed:
                raise WorkerDiedError("the worker process died")


class WorkerHere(Worker):
    """A worker that runs its jobs in the thread of its caller."""

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
            register(name, place, replace=True)  # this process has also read the options
        self._places.pass_by(self, "starting")

    def run_job(
        self,
        job: Any,
        seconds: float,
        on_outcome: Callable[[Outcome], None],
        note_read: Callable[[], None] = lambda: None,
        note_spare: Callable[[Spare], None] = lambda spare: None,
    ) -> Any:
        self._places.pass_by(self, "unread")
        answers: list[Any] = []

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
                answers.append(what)
                if len(answers) == 1:
                    on_outcome(what)

        try:
            run_one_job(cast(Any, Pipe), job)
        except SystemExit:
            self._running = False
            raise WorkerDiedError("the worker process died") from None
        return answers[1]

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
    """A handler for the log of one service. Lines from threads outside the loop go to every running service."""

    def __init__(self, service: ServiceHere) -> None:
        super().__init__(logging.INFO)
        self._service = service

    def emit(self, record: logging.LogRecord) -> None:
        if _WHOSE.get() in (None, self._service):
            fields = json.loads(json.dumps(collect_fields(record), default=str))
            self._service.note(fields)


class ServiceHere(Running):
    """A service in this process; its options are those of `optassign serve`.

    `held`: (crew, place) at which workers are held from the start. `day`: the first time of the clock of the day, in seconds
    since 1970; None for the present.
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
        """Hold the workers of a crew at a place within the context."""
        with self._places.changed:
            self._places.held.add((crew, place))
        try:
            yield
        finally:
            self.let_go(place, crew)

    def let_go(self, place: Place, crew: str = "solvers") -> None:
        """Release the workers of a crew at a place."""
        with self._places.changed:
            self._places.held.discard((crew, place))
            self._places.changed.notify_all()

    def await_held(self, place: Place, crew: str = "solvers") -> WorkerHere:
        """Wait for a worker of the crew that is held at the place, and return it."""

        def find() -> WorkerHere | None:
            return next((each for each in self.workers if (each.crew, each.at) == (crew, place) and not each.killed), None)

        with self._places.changed:
            assert self._places.changed.wait_for(find, MOST_SECONDS), f"nobody of the {crew} is held {place}"
            found = find()
        assert found is not None
        return found

    def await_idle(self) -> None:
        """Wait until no solver has a job, since a solver computes the details after sending an answer."""
        wait_until(lambda: self.read_metric("optassign_workers_busy") == 0)

    def pass_seconds(self, seconds: float) -> None:
        """Advance the clocks of the loop and of the day, and let the loop run its due callbacks."""
        self._call(lambda: setattr(self._loop, "ahead", self._loop.ahead + seconds))
        for _ in range(10):
            self._call(lambda: None)

    def await_look(self, name: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """Let the service check its files until `count` events of that name are logged, and return the newest."""

        def look() -> bool:
            self.pass_seconds(2)
            return len(self.list_events(name, **fields)) >= count

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
        """Begin the shutdown as on a signal, with a running clock."""
        self._stopping = True
        self._call(lambda: setattr(self._loop, "still_at", None))
        self._loop.call_soon_threadsafe(self._service.stop, context=self._context)

    def stop(self) -> int | None:
        """Stop the service, wait for its end, and return the exit code."""
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
    """Yield a service in this process that runs within the context."""
    service = ServiceHere(*options, **settings)
    try:
        yield service
    finally:
        service.stop()


def assign_late(service: ServiceHere, state: ApplicationState | bytes, **headers: str) -> httpx.Response:
    """Return the answer to a request whose deadline passes while a solver works: that of greedy inside cp-sat."""
    service.await_idle()
    with service.hold("read"), ThreadPoolExecutor(1) as thread:
        response = thread.submit(service.assign, state, optassign_deadline_ms="1", **headers)
        service.await_held("read")
        service.pass_seconds(0.01)
        service.let_go("read")
        return response.result()
