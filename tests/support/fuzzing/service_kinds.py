"""Kinds of cases that need a running service: spoiled requests, and requests from its OpenAPI description."""

import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import httpx
from case import Case
from serving import HEADERS, Service
from spoiling import KNOWN, dump_known_answer, dump_known_state, spoil

_STATUSES = {200, 400, 401, 403, 404, 405, 408, 413, 415, 503}
_PAGES = ("/v1/assign",) * 6 + ("/v1/applied",) * 2 + ("/", "/metrics", "/v1/assign/x")
_SPOILED = ("Optassign-Protocol", "Optassign-Mode", "Content-Encoding", "Content-Type", "Optassign-Remembered-At")
_VALUES = ("", "1", "shadow", "gzip", "application/json", "9" * 19, "9" * 30, "\x7f", "-1")
_SLOW_PAGE = "/v1/compare"
"""A page that gets only a few requests, since each starts a process."""
_EXAMPLES, _SLOW_EXAMPLES = 20, 10
"""Examples of a run of schemathesis for each page; few, since the time is checked only between runs."""
_SETTINGS = Path(__file__).with_name("schemathesis.toml")
_CHECKS = "status_code_conformance,content_type_conformance,response_schema_conformance"
"""The checks of schemathesis except that of status 5xx: 503 is a valid answer, and the log shows faults."""
_BROKEN = ("bug", "worker_died")


class Requests:
    """Requests to a service, most of them spoiled: it answers each in words, and continues."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = httpx.Client(base_url=service.client.base_url, timeout=30)
        self._seen = 0

    def make(self, random: Random) -> Case:
        number = random.randrange(KNOWN)
        headers = {**HEADERS, "Optassign-Deadline-Ms": random.choice(("5000", "1", "60000", "0", "x", "60001", ""))}
        if random.random() < 0.3:
            headers[random.choice(_SPOILED)] = random.choice(_VALUES)
        page = random.choice(_PAGES)
        text = dump_known_state(number)
        if page == "/v1/applied":
            headers |= {"Optassign-Rebalance": "a", "Optassign-Applied-At": "1"}
            text = f'{{"application":"fuzz","why":"","applied":{dump_known_answer(number)},"snapshot":{text}}}'
        method = random.choice(("POST",) * 9 + ("GET",))
        return Case(spoil(random, text), (method, page, *(part for pair in headers.items() for part in pair)))

    def check(self, case: Case) -> str | None:
        method, page, *named = case.arguments
        headers = dict(zip(named[::2], named[1::2], strict=True))
        try:
            response = self._client.request(method, page, content=case.content, headers=headers)
        except httpx.HTTPError as error:
            return f"no answer: {error!r}"
        if response.status_code not in _STATUSES:
            return f"status {response.status_code}: {response.text[:200]}"
        is_json = response.headers["content-type"] == "application/json"
        if response.status_code >= 400 and is_json and "error" not in response.json():
            return "a refusal that says nothing"
        new, self._seen = self._service.log[self._seen :], len(self._service.log)
        bugs = [event for event in new if event["event"] in _BROKEN or "traceback" in event]
        return f"in the log: {bugs[0]}" if bugs else None


def run_schemathesis(service: Service, seed: int, until: float) -> tuple[int, list[str]]:
    """Send requests from the OpenAPI description repeatedly with new seeds; return their number and the faults."""
    cases, wrong = _run_once(service, seed, ["--include-path", _SLOW_PAGE], _SLOW_EXAMPLES)
    while time.monotonic() < until:
        more, found = _run_once(service, seed, ["--exclude-path", _SLOW_PAGE], _EXAMPLES)
        cases, wrong, seed = cases + more, wrong + found, seed + 1
        if not more:
            break
    return cases, wrong


def _run_once(service: Service, seed: int, pages: list[str], examples: int) -> tuple[int, list[str]]:
    options = ["--seed", str(seed), "--checks", _CHECKS, "--max-examples", str(examples), "--phases", "fuzzing", *pages]
    options += ["--no-color", "--suppress-health-check", "all", "--request-timeout", "120", "-H", "Optassign-Deadline-Ms: 2000"]
    tool = str(Path(sys.executable).with_name("schemathesis"))
    command = [tool, "--config-file", str(_SETTINGS), "run", f"{service.client.base_url}/openapi.json", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    cases = re.search(r"([\d,]+) generated", ended.stdout)
    wrong = [f"openapi, seed {seed}: {ended.stdout[-3000:]}{ended.stderr[-500:]}"] if ended.returncode else []
    wrong += [f"openapi, seed {seed}: in the log: {event}" for name in _BROKEN for event in service.list_events(name)]
    return int(cases[1].replace(",", "")) if cases else 0, wrong
