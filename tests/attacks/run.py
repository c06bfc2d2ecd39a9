"""`make attacks`: run each attack once against its own service, and print the effect on an innocent plug-in's requests."""

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "support" / "processes"))

from attacking import (
    Innocent,
    MemoryWatch,
    begin_bodies,
    count_open,
    flood,
    is_running,
    kill_with_stuck_workers,
    open_connections,
    start_unread_service,
)
from hostile_bodies import BODIES
from serving import HEADERS, make_state, run_service

from optassign_benchmarks.soak.samples import read_memory

Figures = dict[str, object]
_HALF_A_HEADER = b"POST /v1/assign HTTP/1.1\r\nHost: x\r\nContent-Ty"


def _describe(innocent: Innocent) -> Figures:
    return {"asked": len(innocent.seconds), "missed": innocent.missed, "p99_s": round(innocent.p99, 2)}


def send_half_headers(seconds: float) -> Figures:
    """Open 1,100 connections and send half a header on each."""
    with run_service() as service:
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))  # the default limit of most systems
        before = sum(len(str(line)) for line in service.log)
        held = open_connections(service, 1100, _HALF_A_HEADER)
        with Innocent(service) as innocent:
            time.sleep(seconds)
        log = sum(len(str(line)) for line in service.log) - before
        still_open = count_open(held)
        for connection in held:
            connection.close()
    return {"connected": len(held), "open_at_end": still_open, "log_bytes": log, **_describe(innocent)}


def leave_log_unread(seconds: float) -> Figures:
    """Leave the service's log unread while it answers."""
    process, port = start_unread_service("--workers", "1")
    answered, body = 0, make_state("unread").model_dump_json().encode()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:
            for _ in range(600):
                with suppress(httpx.HTTPError):
                    if client.get("/readyz").status_code == 200:
                        break
                time.sleep(0.1)
            end = time.monotonic() + seconds
            with suppress(httpx.HTTPError):
                while time.monotonic() < end and client.post("/v1/assign", content=body, headers=HEADERS).status_code == 200:
                    answered += 1
            stuck = time.monotonic() < end
    finally:
        process.kill()
        process.wait()
    return {"answered": answered, "stuck": stuck}


def hold_slots(seconds: float) -> Figures:
    """Begin 100 requests, and send one byte of each body."""
    with run_service() as service:
        held = begin_bodies(service, 100)
        with Innocent(service) as innocent:
            time.sleep(seconds)
        still_open = count_open(held)
        for connection in held:
            connection.close()
    return {"held": len(held), "open_at_end": still_open, **_describe(innocent)}


def send_burst(seconds: float) -> Figures:
    """Send the requests of 100 applications at once."""
    from concurrent.futures import ThreadPoolExecutor

    with run_service("--workers", "2") as service, ThreadPoolExecutor(100) as threads:
        clients = [httpx.Client(base_url=service.client.base_url, timeout=30) for _ in range(100)]
        bodies = [make_state(f"burst-{i}").model_dump_json().encode() for i in range(100)]
        headers = {**HEADERS, "Optassign-Deadline-Ms": "2000"}

        def ask(number: int) -> int:
            return clients[number].post("/v1/assign", content=bodies[number], headers=headers).status_code

        statuses = list(threads.map(ask, range(100)))
    return {"statuses": {status: statuses.count(status) for status in sorted(set(statuses))}}


def orphan_workers(seconds: float) -> Figures:
    """Kill the service while its workers are stuck."""
    with run_service("--workers", "2") as service:
        pids = kill_with_stuck_workers(service)
        time.sleep(2)
        left = [pid for pid in pids if is_running(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    return {"workers": len(pids), "left_after_2_s": len(left)}


def make_body_attack(name: str, size: int) -> Callable[[float], Figures]:
    """Return the attack that sends a hostile body of `size` bytes again and again."""

    def send(seconds: float) -> Figures:
        body = BODIES[name](size)
        with run_service("--workers", "2") as service, MemoryWatch(service.process.pid) as watch:
            with Innocent(service) as innocent, flood(service, body, 3) as statuses:
                time.sleep(seconds)
            main = read_memory(service.process.pid)
        workers = [most for pid, most in watch.most.items() if pid != service.process.pid]
        counts = {status: statuses.count(status) for status in sorted(set(statuses))}
        figures: Figures = {"sent": len(statuses), "statuses": counts}
        return {**figures, **_describe(innocent), "main_MB": main >> 20, "largest_worker_MB": max(workers) >> 20}

    send.__doc__ = f"Send {size / 1e6:g} MB from 3 connections: {name}."
    return send


def write_to_closed_output(seconds: float) -> Figures:
    """Run commands with a closed or full standard output."""
    snapshot = make_state("closed").model_dump_json().encode()
    found: Figures = {}
    for what, to in (("closed", ">&-"), ("full", "> /dev/full")):
        for options in ("assign -", "assign - --format table", "validate --help", "--version"):
            shell = f'exec "{sys.executable}" -m optassign.cli {options} {to}'
            ended = subprocess.run(["bash", "-c", shell], input=snapshot, stderr=subprocess.PIPE, check=False)
            lines = ended.stderr.decode().splitlines()
            found[f"{what}: {options}"] = (
                f"exit {ended.returncode}, {len(lines)} lines{', traceback' * ('Traceback' in str(lines))}"
            )
    return found


ATTACKS: dict[str, Callable[[float], Figures]] = {
    "half-headers": send_half_headers,
    "unread-log": leave_log_unread,
    "held-slots": hold_slots,
    "burst": send_burst,
    "orphans": orphan_workers,
    "closed-output": write_to_closed_output,
    "repeated-names": make_body_attack("repeated names", 1_000_000),
    "digits": make_body_attack("runs of digits", 20_000_000),
    "wrong-tasks": make_body_attack("wrong tasks", 3_000_000),
    "wrong-lags": make_body_attack("wrong lags", 8_000_000),
    "wrong-consumers": make_body_attack("wrong consumers", 8_000_000),
    "infinite-extras": make_body_attack("infinite extras", 8_000_000),
    "nested-names": make_body_attack("nested long names", 60_000_000),
    "application-last": make_body_attack("application last", 30_000_000),
    "empty-lists": make_body_attack("empty lists", 60_000_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"attacks to run, of {', '.join(ATTACKS)}; default: all")
    parser.add_argument("--seconds", type=float, default=15.0, help="duration of each attack (default: %(default)s)")
    arguments = parser.parse_args()
    for name in arguments.names or ATTACKS:
        figures = ATTACKS[name](arguments.seconds)
        print(f"{name} | {ATTACKS[name].__doc__} | {', '.join(f'{key} {value}' for key, value in figures.items())}", flush=True)


if __name__ == "__main__":
    main()
