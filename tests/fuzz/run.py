"""`make fuzz`: random input for the JSON reader, the commands, the service, the assignors and the plug-in, for so many minutes.

Each case has a seed, so that it can be had again: `--kind reader --seed 17 --cases 1`. What goes wrong is shrunk, where it is
bytes, and written to build/fuzz/; once it is mended, the input becomes a test of what it found. The plug-in's cases (`jvm`) are
jqwik's, which shrinks them and prints its own seeds; they need Maven.
"""

import argparse
import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import httpx  # noqa: E402
from serving import HEADERS, Service, run_service  # noqa: E402

from optassign import assign  # noqa: E402
from optassign.cli import main as run_command  # noqa: E402
from optassign.formats.reading import InputError, read_value, to_model  # noqa: E402
from optassign.formats.state import ApplicationState  # noqa: E402
from optassign.generate import generate  # noqa: E402
from optassign.generate.snapshots import Shape  # noqa: E402
from optassign.judging.validation import validate  # noqa: E402

FOUND = ROOT / "build" / "fuzz"
_NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, -2, -3, 1.5, 1e308, 1e999, 2**31, 2**63 - 1, 2**63, 10**400, "", "0_0", "0_00", "9_9", "a__0_1",
    "\u2028", "\u202e", "\ud800", "\x00", "x" * 3000, [], {}, [[]], {"": 0}, [0, 0], ["0_0", "0_0"], {"0_0": -1},
)  # fmt: skip
_SHAPES: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart", "partial")
_LONGEST_ERROR = 2_000
_STATUSES = {200, 400, 401, 403, 404, 405, 408, 413, 415, 503}


def make_state(random: Random, most_tasks: int = 30) -> ApplicationState:
    """A small group, in one of several moments of its life."""
    return generate(
        random.choice(_SHAPES),
        random.randint(2, most_tasks),
        random.randint(2, 6),
        random.randint(0, 2),
        seed=random.getrandbits(30),
        unlogged=random.choice((0.0, 0.3)),
        unknown=random.choice((0.0, 0.2)),
        racks=random.choice((0, 3)),
        memory=random.random() < 0.3,
        consumers=random.random() < 0.3,
    )


@cache
def make_known_state(number: int) -> ApplicationState:
    """One of a few groups, for cases in which what is spoiled matters more than what there was."""
    return make_state(Random(number))


def _walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of every value below."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _walk(value[key])


def spoil(random: Random, state: ApplicationState) -> bytes:
    """A snapshot as JSON with some things wrong with it, or nothing."""
    data = json.loads(state.model_dump_json())
    for _ in range(random.choice((0, 1, 1, 1, 2, 5))):
        places = list(_walk(data))
        holder, key = random.choice(places)
        match random.randrange(5):
            case 0:
                holder[key] = random.choice(_NASTY)
            case 1:
                del holder[key]
            case 2 if isinstance(holder, list):
                holder.append(holder[key])
            case 3 if isinstance(holder, dict):
                holder[random.choice(("x_new", "new", "tasks", "\u2028", "id"))] = random.choice(_NASTY)
            case _:
                other, name = random.choice(places)
                if name in other if isinstance(other, dict) else name < len(other):
                    holder[key] = json.loads(json.dumps(other[name]))
        if not data:
            break
    text = json.dumps(data, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    for _ in range(random.choice((0, 0, 0, 1, 3))):
        at, width = random.randrange(len(text)), random.randrange(4)
        text = (
            text[:at]
            + random.choice((b"", b"\x00", b"\xff", b'"', b"{", b"[" * 2000, b"9" * 5000, b"\\ud800"))
            + text[at + width :]
        )
    return text


def check_reader(content: bytes) -> str | None:
    """What is wrong with how the reader takes it."""
    for unknown in ("refuse", "ignore"):
        try:
            state, _ = to_model(read_value(content, "fuzz"), ApplicationState, "fuzz", unknown=unknown)
        except InputError as error:
            line = str(error)
            if not line.isprintable() or len(line) > _LONGEST_ERROR:
                return f"an error that is no line: {line[:200]!a}"
            continue
        again = ApplicationState.model_validate_json(state.model_dump_json())
        if again != state:
            return "what is written is not what was read"
    return None


def try_reader(random: Random) -> tuple[str | None, bytes]:
    content = spoil(random, make_known_state(random.randrange(200)))
    return check_reader(content), content


def check_command(content: bytes, arguments: list[str]) -> str | None:
    """What is wrong with how a command takes it from standard input."""
    out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(content))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code: Any = run_command(arguments)
            except SystemExit as leaving:
                code = leaving.code
    finally:
        sys.stdin = before
    if code not in (0, 1, 2):
        return f"exit {code}"
    if "Traceback" in err.getvalue():
        return "a traceback"
    if code == 2 and not err.getvalue().strip():
        return "exit 2 without a word"
    return None


def try_command(random: Random) -> tuple[str | None, bytes]:
    content = spoil(random, make_known_state(random.randrange(200)))
    options = (
        "--assignor",
        "greedy",
        "--format",
        "json",
        "--time-limit",
        "0.2",
        "--task",
        "0_0",
        "--client",
        "a",
        "--no-such",
        "-",
    )
    command = random.choice(("assign", "explain", "compare", "converge", "validate", "anonymise", "assign", "assign"))
    extra = (
        ["--assignors", "greedy,sticky"]
        if command == "compare"
        else ["--assignor", "greedy"] * (command in ("assign", "converge"))
    )
    extra += random.choices(options, k=random.choice((0, 0, 1, 2)))
    return check_command(content, [command, "-", *extra]), content


def try_assignors(random: Random) -> tuple[str | None, bytes]:
    state = make_state(random, 40)
    for _ in range(random.randint(1, 3)):  # a few rebalances, each with the memory of the one before
        name = random.choice(("greedy", "greedy", "greedy", "cp-sat"))
        answer = assign(state, name, 0.5)
        broken = validate(state, answer)
        if broken:
            return f"{name}: {broken[0]}", state.model_dump_json().encode()
        state = state.model_copy(update={"remembered": answer})
    return None, b""


class _Http:
    """Requests to a service of its own."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = httpx.Client(base_url=service.client.base_url, timeout=30)

    def try_request(self, random: Random) -> tuple[str | None, bytes]:
        content = spoil(random, make_known_state(random.randrange(200)))
        headers = {**HEADERS, "Optassign-Deadline-Ms": random.choice(("5000", "1", "60000", "0", "x", "60001", ""))}
        if random.random() < 0.3:
            name = random.choice(
                ("Optassign-Protocol", "Optassign-Mode", "Content-Encoding", "Content-Type", "Optassign-Remembered-At")
            )
            headers[name] = random.choice(("", "1", "shadow", "gzip", "application/json", "9" * 19, "9" * 30, "\x7f", "-1"))
        page = random.choice(("/v1/assign",) * 6 + ("/v1/applied", "/", "/metrics", "/v1/assign/x"))
        if page == "/v1/applied":
            headers |= {"Optassign-Rebalance": "a", "Optassign-Applied-At": "1"}
        try:
            response = self._client.request(random.choice(("POST",) * 9 + ("GET",)), page, content=content, headers=headers)
        except httpx.HTTPError as error:
            return f"no answer: {error!r}", content
        if response.status_code not in _STATUSES:
            return f"status {response.status_code}: {response.text[:200]}", content
        if (
            response.status_code >= 400
            and response.headers["content-type"] == "application/json"
            and "error" not in response.json()
        ):
            return "a refusal that says nothing", content
        if self._service.events("bug") or self._service.events("worker_died"):
            return f"a bug in the log: {(self._service.events('bug') + self._service.events('worker_died'))[-1]}", content
        return None, content


def run_schemathesis(service: Service, seed: int, seconds: float) -> tuple[int, str | None]:
    """Requests by the OpenAPI description: how many, and what is wrong with the answers."""
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{service.client.base_url}/openapi.json",
        "--seed",
        str(seed),
    ]
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    command += ["--checks", checks, "--max-examples", str(max(2, int(seconds / 10))), "--no-color", "--phases", "fuzzing"]
    command += ["--suppress-health-check", "all", "-H", "Optassign-Deadline-Ms: 2000"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds * 4 + 300)
    cases = re.search(r"([\d,]+) generated", ended.stdout)
    wrong = None if ended.returncode == 0 else ended.stdout[-3000:] + ended.stderr[-500:]
    return int(cases[1].replace(",", "")) if cases else 0, wrong


def run_plugin(until: float) -> tuple[int, str | None]:
    """The plug-in's own properties, until it is time: how many cases, and what is wrong."""
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(ROOT / "java" / "plugin" / "pom.xml"), "-Dstyle.skip"]
    command += ["-Dtest=*FuzzTest", "-Djqwik.tries.default=5000", "-Djqwik.reporting.onlyfailures=false", "test"]
    cases = 0
    while True:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        cases += sum(int(number) for number in re.findall(r"^tries = (\d+)", ended.stdout, re.MULTILINE))
        if ended.returncode:
            return cases, ended.stdout[-6000:]
        if time.monotonic() > until:
            return cases, None


def shrink(content: bytes, still: Callable[[bytes], bool]) -> bytes:
    """A shorter input with which the same is wrong: pieces are left out as long as that works."""
    width = len(content) // 2
    while width:
        at = 0
        while at < len(content):
            shorter = content[:at] + content[at + width :]
            if still(shorter):
                content = shorter
            else:
                at += width
        width //= 2
    return content


def _run_kind(
    kind: str, attempt: Callable[[Random], tuple[str | None, bytes]], seed: int, until: float, most: int
) -> tuple[int, int]:
    """(cases, how many of them went wrong) of one kind."""
    cases = wrong = 0
    while cases < most and time.monotonic() < until:
        number = seed + cases
        try:
            why, content = attempt(Random(f"{kind} {number}"))
        except Exception as error:
            why, content = f"{type(error).__name__}: {error}", b""
        cases += 1
        if why is not None:
            wrong += 1
            if kind == "reader" and content:
                content = shrink(content, lambda shorter: check_reader(shorter) is not None)
            FOUND.mkdir(parents=True, exist_ok=True)
            (FOUND / f"{kind}-{number}.json").write_bytes(content)
            print(f"{kind}, seed {number}: {why[:600]}", flush=True)
    return cases, wrong


def main() -> int:
    kinds = ("reader", "cli", "assignors", "jvm", "http", "openapi")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="of all kinds together (default: %(default)s)")
    parser.add_argument("--kind", choices=kinds, action="append", help="which (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the first case of each kind (default: %(default)s)")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most, of each kind")
    arguments = parser.parse_args()
    chosen = arguments.kind or kinds
    seconds = 60 * arguments.minutes / len(chosen)
    cases: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    local = {"reader": try_reader, "cli": try_command, "assignors": try_assignors}
    for kind in chosen:
        end = time.monotonic() + seconds
        if kind in local:
            cases[kind], wrong[kind] = _run_kind(kind, local[kind], arguments.seed, end, arguments.cases)
            continue
        if kind == "jvm":
            cases[kind], why = run_plugin(end)
            if why is not None:
                wrong[kind] = 1
                print(why)
            continue
        with run_service("--workers", "2") as service:
            end = time.monotonic() + seconds  # the service's start does not count
            if kind == "http":
                cases[kind], wrong[kind] = _run_kind(kind, _Http(service).try_request, arguments.seed, end, arguments.cases)
            else:
                cases[kind], why = run_schemathesis(service, arguments.seed, seconds)
                if why is not None:
                    wrong[kind] = 1
                    print(why)
    for kind in chosen:
        print(f"{kind}: {cases[kind]:,} cases, {wrong[kind]:,} wrong, seeds from {arguments.seed}")
    print(f"all: {cases.total():,} cases, {wrong.total():,} wrong")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
