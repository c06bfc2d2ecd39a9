"""Jobs that make pages in separate processes. The module imports no web framework, since worker processes load none."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from optassign.formats.base import Frozen
from optassign.formats.input_errors import InputError
from optassign.recordings.files import name_folder
from optassign.recordings.recording import Recording
from optassign.service.http.refusals import Refusal, RequestRefusedError, make_refusal
from optassign.service.operators.last_rebalance import NO_REBALANCE
from optassign.service.pages.rendering import render
from optassign.service.views.applications import view_application, view_applications
from optassign.service.views.index import Entry, RecordingIndex
from optassign.service.views.progress import InstanceReport
from optassign.service.views.rebalances import compare_rebalance, dump_snapshot, view_rebalance
from optassign.service.views.timeline import simulate_change
from optassign.service.views.types import ApplicationsView, Status
from optassign.service.views.what_if import CHANGES, view_what_if
from optassign.service.workers.messages import Answer

__all__ = ["PageJob", "PageName"]

PageName = Literal["applications", "application", "rebalance", "compare", "snapshot", "what-if", "timeline"]
_NOTHING: Mapping[str, Any] = dict.fromkeys(("ended", "paused", "quiet", "forget_plan")) | {
    "history": (),
    "drains": (),
    "kept": True,
    "takes_effect": NO_REBALANCE["takes_effect"],
}
_INDEXES: dict[Path, RecordingIndex] = {}
"""Folder → its index, in this process."""


@dataclass(frozen=True)
class PageJob:
    """A job that makes one page."""

    page: PageName
    recordings: Path | None
    now: float
    """Seconds since 1970."""
    allowed: frozenset[str] | None
    """The applications of the token; None: all."""
    as_json: bool = False
    application: str = ""
    day: str = ""
    time: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    query_text: str = ""
    """The query as it arrived, for links."""
    assignor: str = ""
    """The assignor of a what-if question."""
    seconds: float = 5.0
    """Seconds of solving for each call of an assignor."""
    operator_requests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Application → operators' requests, in the form of `OperatorRequests.describe`."""
    heard: tuple[InstanceReport, ...] = ()
    """Progress that the application's instances have reported between rebalances."""
    frame: Mapping[str, Any] = field(default_factory=dict)
    """Values for every template."""

    def run(self, send: Callable[[Answer | Refusal], None]) -> None:
        """Make the page and `send` it, or a refusal if the page cannot be made."""
        try:
            send(Answer(self._make()))
        except RequestRefusedError as error:
            send(error.refusal)
        except InputError as error:
            send(Refusal(404, "the recording cannot be read", error.place or None, error.found, error.allowed))

    def _make(self) -> bytes:
        index = self._open_index()
        if self.page == "applications":
            return self._write(self._view_applications(index), "applications.html")
        folder = self._find_folder(index)
        assert index is not None
        if self.page == "application":
            before, task = self.query.get("before", ""), self.query.get("task", "").strip()
            application = view_application(index, folder, self.now, before, task, self.operator_requests, self.heard)
            if application is None:
                raise make_refusal(404, "nothing of this application can be read", "application", self.application[:300])
            requests = self.operator_requests.get(application.row.application or "", _NOTHING)
            return self._write(application, "application.html", before=before, requests=requests)
        if self.page in ("what-if", "timeline"):
            return self._make_what_if(index, folder)
        entry = index.find_entry(folder, self.day, self.time)
        if entry is None:
            raise make_refusal(404, "no such rebalance", "rebalance", f"{self.day}/{self.time}"[:100], "one that is recorded")
        if self.page == "snapshot":
            return dump_snapshot(index.read(entry), "anonymised" in self.query)
        if self.page == "compare":
            return self._make_comparison(index, entry)
        asked = {"task": self.query.get("task", "").strip(), "client": self.query.get("client", "").strip()}
        first = self.query.get("first", "0")
        view = view_rebalance(
            index,
            entry,
            self.now,
            task=asked["task"],
            client=asked["client"],
            first=int(first) if first.isascii() and first.isdigit() and len(first) < 9 else 0,
            all_moves=self.query.get("moves") == "all",
        )
        return self._write(view, "rebalance.html", asked=asked)

    def _view_applications(self, index: RecordingIndex | None) -> ApplicationsView:
        """Return the view of the first page. RequestRefusedError with status 400 for an unknown status."""
        asked, find = self.query.get("status", ""), self.query.get("find", "").strip()
        status = next((word for word in get_args(Status) if word == asked), None)
        if asked and status is None:
            raise make_refusal(400, "no such status", "status", asked[:100], ", ".join(get_args(Status)))
        return view_applications(index, self.now, self.allowed, self.operator_requests, status, find)

    def _make_comparison(self, index: RecordingIndex, entry: Entry) -> bytes:
        comparison = compare_rebalance(index.read(entry), self.seconds)
        if self.as_json:
            return json.dumps(comparison.as_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        back = f"/applications/{entry.folder}/rebalances/{entry.day}/{entry.time}"
        return render("compare.html", comparison=comparison, back=back.replace("%", "%25"), **self.frame)

    def _make_what_if(self, index: RecordingIndex, folder: str) -> bytes:
        application = view_application(index, folder, self.now)
        recording = self._read_last(index, folder)
        if application is None or recording is None:
            raise make_refusal(404, "nothing of this application can be read", "application", self.application[:300])
        given = {name: self.query.get(name, "") for name in CHANGES}
        about = {
            "row": application.row,
            "configs": recording.snapshot.configs,
            "zones": application.zones,
            "client_names": application.client_names,
            "given": given,
            "query": self.query_text,
        }
        if self.page == "timeline":
            way = simulate_change(recording, given, self.assignor)
            back = f"/applications/{folder.replace('%', '%25')}/what-if?{self.query_text}"
            return self._write(way, "timeline.html", back=back)
        if not self.as_json and not any(given.values()):
            return render("what_if.html", view=None, error=None, **about, **self.frame)
        try:
            view = view_what_if(recording, given, self.assignor, self.seconds)
        except RequestRefusedError as error:
            if self.as_json:
                raise
            return render("what_if.html", view=None, error=error.refusal, **about, **self.frame)
        return self._write(view, "what_if.html", error=None, **about)

    def _read_last(self, index: RecordingIndex, folder: str) -> Recording | None:
        for entry in index.list_entries(folder):
            try:
                return index.read(entry)
            except InputError:
                continue
        return None

    def _write(self, view: Frozen, template: str, **more: Any) -> bytes:
        if self.as_json:
            return view.model_dump_json().encode()
        return render(template, view=view, **more, **self.frame)

    def _open_index(self) -> RecordingIndex | None:
        if self.recordings is None:
            return None
        if self.recordings not in _INDEXES:
            _INDEXES[self.recordings] = RecordingIndex(self.recordings)
        return _INDEXES[self.recordings]

    def _find_folder(self, index: RecordingIndex | None) -> str:
        """Return the application's folder. RequestRefusedError with status 403 if the token is not for it, 404 if it is
        unknown."""
        folder = None if index is None else index.find_folder(self.application)
        if self.allowed is not None and (folder or self.application) not in {name_folder(name) for name in self.allowed}:
            raise make_refusal(403, "the token is not for this application", "application", self.application[:300])
        if folder is None:
            raise make_refusal(404, "no such application", "application", self.application[:300], "one that is recorded")
        return folder
