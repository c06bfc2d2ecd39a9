"""Tests that each line of the log is one event, whatever names and bodies contain, in both forms and byte by byte."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from string import Formatter

import httpx
import pytest
from serving import HEADERS, Service, make_state
from serving_here import run_service_here

import optassign.service
from optassign.service.logs import TEXTS, JsonFormatter, LogWriter, TextFormatter, describe_event

NASTY = "a\u2028b\u0085c\u202ed\x1b[31me\u2029f\u0000g\x7fh\ni\rj\ufeffk\u2066l"
"""Line and paragraph separators, bidirectional controls, terminal escapes and NUL."""
_HIDDEN = {character for character in NASTY if not character.isprintable()}


def ask_with_nasty_names(client: httpx.Client) -> None:
    """Send requests so that names from outside reach all events that contain a name."""
    state = make_state(NASTY)
    renamed = state.model_dump_json().replace(state.clients[0].process_id, json.dumps(NASTY)[1:-1])
    fields = json.loads(renamed)
    fields[f"new {NASTY}"] = 1
    assert client.post("/v1/assign", content=json.dumps(fields).encode(), headers=HEADERS).status_code == 200
    wrong = json.dumps({**fields, "format": NASTY}).encode()
    assert client.post("/v1/assign", content=wrong, headers=HEADERS).status_code == 400
    assert client.post("/v1/assign", content=b"{" + json.dumps(NASTY).encode(), headers=HEADERS).status_code == 400
    assert client.get("/no-page-%E2%80%A8-%C2%85-%1B").status_code == 404
    named = [*((name.encode(), value.encode()) for name, value in HEADERS.items()), (b"Optassign-Plugin", b"0.1 \x85\x9b")]
    assert client.post("/v1/assign", content=make_state("plain").model_dump_json(), headers=named).status_code in (200, 400)


@pytest.mark.parametrize("form", ["json", "text"])
def test_names_are_escaped_in_the_log(tmp_path: Path, form: str) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stream:
        writer = LogWriter(stream.fileno(), str)
        writer.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
        with run_service_here("--workers", "1", log=writer) as service:
            ask_with_nasty_names(service.client)
            service.wait_for("rebalance", 2)
        writer.close()
    text = log.read_bytes().decode("utf-8")
    assert "ignored" in text
    assert {hex(ord(found)) for found in set(text) & (_HIDDEN - {"\n"})} == set()
    lines = text.rstrip("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    starts = r'\{"time":"' if form == "json" else r"\d{4}-\d\d-\d\dT"
    assert all(re.match(starts, line) for line in lines), "a name has begun a line"


@pytest.mark.parametrize("form", ["json", "text"])
def test_standard_error_has_lines_in_the_requested_form(form: str) -> None:
    """The test runs a process, because logging takes over the root logger."""
    code = f"import logging; from optassign.service.logs import *; set_up_logging({form!r}); log_event('a', b='c d')"
    done = subprocess.run([sys.executable, "-c", f"{code}; logging.shutdown()"], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    if form == "json":
        assert {"level": "info", "event": "a", "b": "c d"}.items() <= json.loads(line).items()
    else:
        assert line.endswith(' info a b="c d"')


def test_serve_warns_of_an_assignor_that_promises_too_few_rules(service: Service) -> None:
    assert not service.list_events("assignor_promises_less")
    with run_service_here("--workers", "1", "--assignor", "sticky") as other:
        line = other.wait_for("assignor_promises_less")
    assert (line["level"], line["assignor"]) == ("warning", "sticky")
    assert "plug-ins refuse" in line["note"]


def test_every_event_has_a_sentence() -> None:
    """The names of events are those in the sources; no sentence begins with a small letter."""
    root = Path(optassign.service.__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py")))
    events = set(re.findall(r'log_event\(\s*"(\w+)"', sources))
    assert len(events) > 25
    assert events | {"log_limited"} == set(TEXTS)
    for event, text in TEXTS.items():
        if isinstance(text, str):
            names = {name for _, name, _, _ in Formatter().parse(text) if name}
            sentence = describe_event(event, dict.fromkeys(names, "x"))
            assert sentence is not None
            assert sentence[0].isupper() or text.startswith("{"), event


def test_a_text_line_is_a_sentence_without_json(service: Service) -> None:
    record = logging.LogRecord("optassign.service", logging.INFO, "", 0, "worker_ready", None, None)
    record.fields = {"pid": 7, "dropped": {"lags": 2}, "ignored": ["a", "b c"], "why": None}
    line = TextFormatter().format(record)
    assert line.endswith('info worker_ready: Worker 7 is ready | pid=7 dropped.lags=2 ignored="a, b c"')
    assert service.list_events("listening")[0]["message"].startswith("The service listens on http://")
