"""The kinds of cases that need a running service: spoiled requests, and requests by its OpenAPI description."""

import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import httpx
from kinds import Case
from serving import HEADERS, Service
from spoiling import KNOWN, dump_known_answer, dump_known_state, spoil

_STATUSES = {200, 400, 401, 403, 404, 405, 408, 413, 415, 503}
_PAGES = ("/v1/assign",) * 6 + ("/v1/applied",) * 2 + ("/", "/metrics", "/v1/assign/x")
_SPOILED = ("Optassign-Protocol", "Optassign-Mode", "Content-Encoding", "Content-Type", "Optassign-Remembered-At")
_VALUES = ("", "1", "shadow", "gzip", "application/json", "9" * 19, "9" * 30, "\x7f", "-1")
_EXAMPLES = 40
"""Of a run of schemathesis, for each page."""
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


class Requests:
    """Requests to a service, most of them with something wrong: it answers each, in words, and goes on."""

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
        bugs = [event for event in new if event["event"] in ("bug", "worker_died") or "traceback" in event]
        return f"in the log: {bugs[0]}" if bugs else None


def run_schemathesis(service: Service, seed: int, until: float) -> tuple[int, list[str]]:
    """Requests by the OpenAPI description, again and again with another seed: how many, and what was wrong."""
    cases, wrong = 0, []
    while True:
        options = ["--seed", str(seed), "--checks", _CHECKS, "--max-examples", str(_EXAMPLES), "--phases", "fuzzing"]
        options += ["--no-color", "--suppress-health-check", "all", "-H", "Optassign-Deadline-Ms: 2000"]
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{service.client.base_url}/openapi.json"]
        ended = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        found = re.search(r"([\d,]+) generated", ended.stdout)
        cases += int(found[1].replace(",", "")) if found else 0
        if ended.returncode:
            wrong.append(f"openapi, seed {seed}: {ended.stdout[-3000:]}{ended.stderr[-500:]}")
        seed += 1
        if time.monotonic() >= until or not found:
            return cases, wrong
