"""Common parts of the tests of pages: hostile names, tokens, and lists of pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from serving import Running
from serving_here import run_service_here

from optassign import assign
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import RecordingHead, encode_recording, make_overview, summarise

OPERATOR, READER = "a-token-for-everything", "a-token-for-harmless"
OWNER = "a-token-that-may-operate-0123456789"
"""A token, to be followed by `may=operate` in a file of tokens."""
CONTROLS = "Pause, drain, replan"
"""The control that opens the form for operators, shown only with such a token."""
REBALANCES_ON_A_PAGE = 50
SCRIPT = "<script>window.hacked=1</script>"
TURNED = "\u202egnp.exe\u2066"
ATTRIBUTE = '" onmouseover="window.hacked=1" x=\''
LONGEST = "<b>" + "w" * 252
HOSTILE = (SCRIPT, TURNED, ATTRIBUTE, LONGEST, "{{ 7 * 7 }}", "../../etc/passwd", "a b%2Fc?d#e")
"""Hostile names of applications, clients, tags and other texts from outside."""


def record_hostile(folder: Path) -> None:
    """Write a recording for an application of each hostile name and for `harmless`; all other names in them are hostile."""
    for place, name in enumerate((*HOSTILE, "harmless")):
        state = generate("scale-out", 24, 4, 1, seed=place + 1)
        names = {client.process_id: f"{HOSTILE[n % len(HOSTILE)][:240]}{n}" for n, client in enumerate(state.clients)}
        data = state.model_dump(mode="json")
        data["application"] = name
        data["remembered"] = None
        for client in data["clients"]:
            client["tags"] = {SCRIPT: TURNED, "zone": ATTRIBUTE}
            client["host"] = f"{SCRIPT}:{len(client['process_id'])}"
            client["process_id"] = names[client["process_id"]]
        write_recording(folder, ApplicationState.model_validate(data), datetime.now(UTC) - timedelta(minutes=5), why=SCRIPT)


@contextmanager
def serve_hostile(factory: pytest.TempPathFactory, *tokens: str) -> Iterator[Running]:
    """Serve hostile recordings in the context. `tokens`: lines of the file of tokens."""
    folder, file = factory.mktemp("hostile"), factory.mktemp("tokens") / "tokens"
    record_hostile(folder)
    file.write_text("".join(f"{line}\n" for line in tokens), encoding="ascii")
    with run_service_here("--workers", "1", "--recordings", str(folder), "--token-file", str(file)) as started:
        yield started


def write_recording(folder: Path, state: ApplicationState, at: datetime, why: str = "", assignor: str = "greedy") -> Path:
    """Write a recording as the service does, and return its path."""
    answer = assign(state, assignor, 5.0)
    head = RecordingHead(
        format=1,
        application=state.application,
        recorded_at=at.isoformat(timespec="milliseconds"),
        answered_at=round(at.timestamp() * 1000),
        assignor=assignor,
        time_limit=5.0,
        reported=bool(why),
        why=why,
        summary=summarise(state, answer),
        overview=make_overview(state, answer),
    )
    path = folder / make_relative_path(state.application, at, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_recording(head, answer.model_dump_json().encode(), state.model_dump_json().encode()))
    return path


def list_pages(client: httpx.Client) -> list[str]:
    """Return the paths of pages of every kind, for every application."""
    pages = ["/"]
    for row in client.get("/v1/history").json()["applications"]:
        here = f"/applications/{quote(row['folder'], safe='')}"
        listed = client.get(f"/v1/history/{quote(row['folder'], safe='')}").json()["rebalances"]
        _, day, time = listed[0]["id"].split("/")
        pages += [here, f"{here}/what-if", f"{here}/rebalances/{day}/{time}", f"{here}/rebalances/{day}/{time}?task=0_1"]
    return pages
