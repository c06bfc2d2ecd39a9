"""The whole service: its components, their start and their orderly stop."""

import asyncio
import logging
import os
import signal
import ssl
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import uvicorn
from fastapi.routing import APIRoute

from optassign import __version__
from optassign.assignor import find_traits
from optassign.formats.clients import KafkaStreamsState
from optassign.recordings.files import find_newest_answers
from optassign.recordings.recording import Recording, RecordingHead
from optassign.service.application_clocks import ApplicationClocks
from optassign.service.applications_file import ApplicationsFile
from optassign.service.clock import format_utc
from optassign.service.http.access import Sessions, Tokens
from optassign.service.http.app import PAGES, make_app
from optassign.service.http.connections import Connections, LimitedListener, check_address, open_listener
from optassign.service.http.gateway import Gateway
from optassign.service.http.refusals import RequestRefusedError
from optassign.service.http.request import PROTOCOL, BodyBudget
from optassign.service.logs import log_event, set_up_logging
from optassign.service.memory import Memory, Remembered, Turns
from optassign.service.metrics import Metrics
from optassign.service.operators.last_rebalance import make_last_rebalance
from optassign.service.operators.operator_requests import OperatorRequests
from optassign.service.operators.requested_options import keep_names
from optassign.service.pages.jobs import PageJob
from optassign.service.pages.routes import add_pages
from optassign.service.rebalances import AnswerFinder, Rebalances, Shared
from optassign.service.recorder import Recorder
from optassign.service.reports import Reports
from optassign.service.settings import Settings, SettingsError, WatchedFiles, check_tls, find_expiry, list_readable_secrets
from optassign.service.views.progress import ProgressReports
from optassign.service.workers.pool import WorkerPool
from optassign.service.workers.side_process import SideProcess
from optassign.service.workers.worker import Worker, WorkerSpec

__all__ = ["Service", "check", "serve"]

_COMPARISON_S = 300.0  # seconds of a comparison, with the start of its process
_KEEP_ALIVE_S = 1_800
"""Seconds for which an idle connection stays open. A JVM keeps it for at most 1,200 s, and must be the side that closes it."""
_FILE_LOOK_S = 2.0  # seconds between two checks of tokens and certificate: a changed file takes effect within that time
_PAGE_S = 30.0  # seconds for a page that only reads: a reader waits no longer
_TRIAL_S = 90.0  # seconds for a page that solves or simulates: a reader waits no longer
_FLUSH_S = 10.0  # seconds for writing recordings when the service stops; systemd waits for 90 s

_PAGE_ERRORS = ("the page cannot be made", "too many pages are waited for")
"""The errors if a page fails, and if too many pages are requested."""


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code: 0, or 1 if a second signal ended the service early.

    SettingsError for invalid settings, before anything starts.
    """
    check_tls(settings)
    tokens = Tokens(settings.token_file)
    applications = ApplicationsFile(settings.applications_file)
    with open_listener(settings, bool(tokens)) as listener, ExitStack() as until_end:
        _raise_descriptors()
        set_up_logging(settings.log_format)
        read_seconds, now = time.time, datetime.now(UTC)
        if settings.demo:
            from optassign.service.demo import record_day  # loads the simulator, which only the demonstration needs

            read_seconds = now.timestamp  # a fixed time: otherwise each simulated application is soon silent
            folder = Path(until_end.enter_context(TemporaryDirectory(prefix="optassign-demo-")))
            log_event("demo", recordings=record_day(folder, now), folder=str(folder))
            settings = replace(settings, recordings=folder)
        try:
            return asyncio.run(Service(settings, tokens, applications, read_seconds=read_seconds).run(listener))
        finally:
            logging.shutdown()  # write all logged lines that standard error accepts


def check(settings: Settings) -> list[str]:
    """Check settings as `serve` does, without opening a port or starting a process, and return a line for each part.

    SettingsError for invalid settings.
    """
    check_tls(settings)
    tokens, applications = Tokens(settings.token_file), ApplicationsFile(settings.applications_file)
    _, address = check_address(settings, bool(tokens))
    lines = [f"address: {address[0]} port {address[1]}", f"tokens: {len([*tokens.list_all()]) if tokens else 'none'}"]
    lines.append(f"applications: {len(applications.list_names())} in the file")
    for name, path in (("certificate", settings.tls_cert), ("authorities of clients", settings.tls_client_ca)):
        expiry = None if path is None else find_expiry(path)
        lines.append(f"{name}: {'none' if expiry is None else f'expires {format_utc(expiry)}'}")
    lines += [f"warning: every user of this machine may read {path}" for path in list_readable_secrets(settings)]
    if settings.recordings is not None:
        folder = settings.recordings
        if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise SettingsError(f"--recordings: found {folder}, which cannot be written; allowed: a writable folder")
        lines.append(f"recordings: {folder}")
    return lines


def _raise_descriptors() -> None:
    """Raise the limit of file descriptors to the most that the system allows."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else max(soft, 4096), hard))


@dataclass(frozen=True)
class _LastAnswer:
    """The last answer of an application before a restart, without its snapshot."""

    application: str
    head: RecordingHead
    remembered: Remembered
    clients: tuple[KafkaStreamsState, ...]


def _read_last_answers(folder: Path, most: int) -> list[_LastAnswer]:
    """Return the newest applied answers of at most `most` applications, the newest last. OSError for an unreadable folder."""
    return sorted(map(_keep_answer, find_newest_answers(folder, most)), key=lambda last: last.head.answered_at)


def _keep_answer(recording: Recording) -> _LastAnswer:
    head = RecordingHead(**{name: getattr(recording, name) for name in RecordingHead.model_fields})
    answer = recording.assignment.model_dump_json().encode()
    remembered = Remembered(head.answered_at, answer, -1, head.rebalance)
    return _LastAnswer(head.application or "", head, remembered, keep_names(recording.snapshot.clients))


class _Server(uvicorn.Server):
    """Uvicorn's server; on a signal, the service first finishes the requests under way."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(config)
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully at the first signal, at once at the second."""
        self._loop.call_soon_threadsafe(self.stop_on_signal, signal.Signals(sig).name)

    def stop_on_signal(self, name: str) -> None:
        """Stop gracefully at the first call, at once at the second."""
        if self._stopping is not None:
            self.force_exit = self.should_exit = True
            return
        log_event("stopping", signal=name)
        self._stopping = self._loop.create_task(self._stop_then_exit())

    async def _stop_then_exit(self) -> None:
        await self._stop()
        self.should_exit = True


class Service:
    """The components of the service, in their order of start and stop.

    read_seconds: returns seconds since 1970; all other times are the loop's.
    """

    def __init__(
        self,
        settings: Settings,
        tokens: Tokens,
        applications: ApplicationsFile,
        make_worker: Callable[[WorkerSpec], Worker] = Worker,
        read_seconds: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._tokens, self._applications = settings, tokens, applications
        self._read_seconds = read_seconds
        limits = settings.limits
        self._connections = Connections(limits, _KEEP_ALIVE_S)
        self._bodies = BodyBudget(limits.held_bytes)
        self._requests = OperatorRequests(settings.recordings, applications, read_seconds, settings.idle_followup_ms)
        self._metrics = Metrics(__version__, limits.applications, read_seconds, self._requests.describe)
        self._clocks = ApplicationClocks(limits.applications)
        self._recorder: Recorder | None = None
        if settings.recordings is not None:
            self._recorder = Recorder(settings.recordings, settings.keep_days, settings.keep_bytes, self._metrics)
        self._memory = Memory(limits.applications)
        # A higher niceness keeps solvers from delaying the loop.
        solver = WorkerSpec(
            settings.assignor, settings.log_format, niceness=5, memory=limits.worker_bytes, registered=settings.registered
        )
        self._solvers = WorkerPool(settings.workers, solver, make_worker)
        self._comparisons = SideProcess(
            "there is no comparison",
            "another comparison is under way",
            solver,
            make_worker,
            seconds=_COMPARISON_S,
            most_jobs=1,
            is_kept=False,
        )
        finder = AnswerFinder(self._solvers, self._metrics)
        shared = Shared(
            finder, self._memory, Turns(), self._metrics, self._recorder, self._requests, self._clocks, read_seconds
        )
        self._rebalances = Rebalances(settings, shared)
        self._reports = reports = Reports(settings, self._rebalances, shared)
        progress = ProgressReports(read_seconds)
        app = make_app(
            settings,
            self._rebalances,
            reports,
            progress,
            self._comparisons,
            self._metrics,
            self._bodies,
            self._requests,
            self._find_why_not_ready,
        )
        sessions = Sessions(tokens, checks_host=not tokens and settings.tls_client_ca is None, read_seconds=read_seconds)
        self._page_makers = (
            SideProcess(*_PAGE_ERRORS, solver, make_worker, seconds=_PAGE_S, most_jobs=64),
            SideProcess(*_PAGE_ERRORS, solver, make_worker, seconds=_TRIAL_S, most_jobs=4),
        )
        add_pages(app, settings, sessions, self._requests, progress, *self._page_makers, read_seconds)
        pages = PAGES | frozenset(route.path for route in app.routes if isinstance(route, APIRoute))
        self._gateway = Gateway(app, find_access=sessions.check, metrics=self._metrics, pages=pages)
        self._server: _Server | None = None
        self._has_read = False
        """Whether the recordings from before a restart have been read."""
        self._refused: set[int] = set()
        """Kinds of files (0: tokens, 1: applications, 2: certificate) whose changed version is unusable."""
        self._add_gauges()

    def stop(self) -> None:
        """Stop as on a signal. Call from the service's event loop, once the service listens."""
        assert self._server is not None
        self._server.stop_on_signal("none")

    async def run(self, listener: LimitedListener) -> int:
        """Serve on the socket until a signal, and return the exit code."""
        settings = self._settings
        self._solvers.start()
        await asyncio.to_thread(self._requests.load)
        if self._recorder is not None:
            self._recorder.start()
        listener.connections = self._connections
        config = uvicorn.Config(
            self._gateway,
            http=self._connections.make_protocol,  # type: ignore[arg-type] # called like a class
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("Optassign-Protocol", PROTOCOL), ("Optassign-Service", __version__)],
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=5,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
            ssl_ca_certs=None if settings.tls_client_ca is None else str(settings.tls_client_ca),
            ssl_cert_reqs=ssl.CERT_NONE if settings.tls_client_ca is None else ssl.CERT_REQUIRED,
        )
        self._server = server = _Server(config, self._finish_requests)
        self._log_address(listener)
        _warn_of_assignor(settings.assignor)
        _warn_of_secrets(settings)
        watching = [
            asyncio.create_task(self._connections.watch()),
            asyncio.create_task(self._watch_files(config)),
            asyncio.create_task(self._read_recordings()),
        ]
        await server.serve(sockets=[listener])
        for task in watching:
            task.cancel()
        if server.force_exit:
            log_event("stopped", logging.WARNING, note="a second signal: what was under way is lost")
        await self._solvers.close()
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.stop, 0.0 if server.force_exit else _FLUSH_S)
        if not server.force_exit:
            log_event("stopped")
        return 1 if server.force_exit else 0

    async def _finish_requests(self) -> None:
        """Refuse new requests, and finish those under way."""
        self._gateway.draining = self._requests.stopping = True
        self._comparisons.stop()
        for maker in self._page_makers:
            maker.stop()
        await self._gateway.wait_until_idle()
        await self._rebalances.finish(_FLUSH_S)

    async def _read_recordings(self) -> None:
        """Restore the memory, then make the first page once, so that its reader does not wait for the start of a process."""
        await self._restore_memory()
        if self._settings.recordings is not None:
            page = PageJob("applications", self._settings.recordings, self._read_seconds(), None, as_json=True)
            with suppress(RequestRefusedError):  # the service stops, or the page fails: its first reader waits instead
                await self._page_makers[0].run(page)
                log_event("pages_ready")

    async def _restore_memory(self) -> None:
        """Restore each application's last assignment and clocks from the newest recordings.

        The service already listens, so an answer given since then takes precedence over the recorded one.
        """
        folder, found = self._settings.recordings, list[_LastAnswer]()
        try:
            if folder is not None:
                found = await asyncio.to_thread(_read_last_answers, folder, self._settings.limits.applications)
        except OSError as error:
            log_event("memory_lost", logging.WARNING, folder=str(folder), why=error.strerror or str(error))
        heard = {last.application for last in found if last.application in self._clocks}
        for last in found:  # a recording in shadow mode is newer than one in active mode, so its clocks count
            if last.head.mode == "active":
                self._memory.put(last.application, last.remembered)
            else:
                self._reports.restore(last.application, last.remembered)
            if last.application not in heard:
                self._metrics.show_applied(self._clocks.restore(last.head))
                if last.head.mode == "active":
                    self._requests.clients.note(last.application, last.clients)
                    self._requests.note_last_rebalance(last.application, make_last_rebalance(last.head))
        self._has_read = True
        if folder is not None:
            log_event("memory_restored", applications=len(self._memory))

    def _find_why_not_ready(self) -> str | None:
        if self._gateway.draining:
            return "the service is shutting down"
        if not self._solvers.warm:
            return "no worker is warm"
        if not self._has_read:
            return "the last assignments are being read"
        return None if self._solvers.able else "every worker is stuck with a request that is past its deadline"

    async def _watch_files(self, config: uvicorn.Config) -> None:
        """Reload tokens, applications and certificate when their files change. Unusable files are logged, and the old settings
        stay."""
        certificate = WatchedFiles(self._settings.tls_cert, self._settings.tls_key)

        def reload_tokens() -> bool:
            if not self._tokens.reload():
                return False
            log_event("tokens_read")
            _warn_of_secrets(self._settings)
            return True

        def reload_applications() -> bool:
            if not self._applications.reload():
                return False
            log_event("applications_read")
            return True

        def reload_certificate() -> bool:
            if not certificate.have_changed() or config.ssl is None or self._settings.tls_cert is None:
                return False
            check_tls(self._settings)
            config.ssl.load_cert_chain(self._settings.tls_cert, self._settings.tls_key)
            log_event("certificate_read")
            return True

        while True:
            await asyncio.sleep(_FILE_LOOK_S)
            for what, reload in enumerate((reload_tokens, reload_applications, reload_certificate)):
                try:
                    if await asyncio.to_thread(reload):
                        self._refused.discard(what)
                except (SettingsError, OSError) as error:
                    self._refused.add(what)
                    log_event("settings_kept", logging.ERROR, why=str(error))

    def _add_gauges(self) -> None:
        add, count = self._metrics.add_gauge, self._metrics.add_counter
        add("queue_length", "Rebalances that wait for a worker", lambda: self._solvers.waiting)
        add("in_flight", "Requests that the service reads or answers", lambda: self._gateway.in_flight)
        add("connections", "Open connections", lambda: len(self._connections))
        add("held_bytes", "Bytes of the bodies of requests under way", lambda: self._bodies.bytes)
        add("workers_able", "Solvers that are not stuck with a job past its deadline", lambda: self._solvers.able)
        add("workers_warm", "Workers that can take jobs or have one", lambda: self._solvers.warm)
        add("workers_busy", "Workers with a job", lambda: self._solvers.busy)
        add(
            "operator_requests_lost",
            "1 while an unreadable file of pauses and drains exists, otherwise 0",
            lambda: self._requests.lost,
        )
        add("settings_refused", "Changed files that the service cannot use and ignores", lambda: len(self._refused))
        files = [("certificate", self._settings.tls_cert), ("client_ca", self._settings.tls_client_ca)]
        self._metrics.show_expiry({name: path for name, path in files if path is not None})
        add("remembered_applications", "Applications whose last answer the service remembers", lambda: len(self._memory))
        count("workers_replaced", "Workers that the service replaced because they died", lambda: self._solvers.replaced)

    def _log_address(self, listener: LimitedListener) -> None:
        settings = self._settings
        host, port = listener.getsockname()[:2]
        scheme = "http" if settings.tls_cert is None else "https"
        log_event(
            "listening",
            url=f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}",
            version=__version__,
            assignor=settings.assignor,
            workers=settings.workers,
            token=bool(self._tokens),
            recordings=None if settings.recordings is None else str(settings.recordings),
        )


def _warn_of_assignor(name: str) -> None:
    """Log a warning if plug-ins will refuse many answers of the assignor."""
    if not find_traits(name).keeps_rules:
        log_event(
            "assignor_promises_less",
            logging.WARNING,
            assignor=name,
            note="in active mode plug-ins refuse answers that break one of R1 to R6",
        )


def _warn_of_secrets(settings: Settings) -> None:
    for path in list_readable_secrets(settings):
        log_event("secret_readable", logging.WARNING, path=str(path))
