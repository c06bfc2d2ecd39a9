"""Tests of SIGTERM: the service refuses new requests, finishes those under way, and ends with exit code 0.
They test `optassign.service.server`."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serving import MOST_SECONDS, freeze, list_files, run_service, wait_until

from optassign import TaskAssignment, assign
from optassign.generating import generate


def test_requests_under_way_are_finished(tmp_path: Path) -> None:
    state = generate("scale-out", 24, 4, 1, seed=3).model_copy(update={"application": "last"})
    with run_service("--workers", "1", "--recordings", str(tmp_path)) as service, ThreadPoolExecutor(1) as thread:
        workers = service.list_worker_pids()
        with freeze(*workers):
            response = thread.submit(service.assign, state)
            wait_until(lambda: service.read_metric("optassign_workers_busy") == 1)
            for pid in (service.process.pid, *workers):  # to all processes, as systemd does
                os.kill(pid, signal.SIGTERM)
            service.wait_for("stopping")
            assert service.client.get("/healthz").status_code == 200
            assert service.client.get("/readyz").json() == {"error": "the service is shutting down"}
            refused = service.assign(state)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json() == {"error": "the service is shutting down"}
        answer = TaskAssignment.model_validate_json(response.result().content)
        assert answer.without_times() == assign(state).without_times()
        assert service.process.wait(MOST_SECONDS) == 0
        assert service.wait_for("stopped")["level"] == "info"
        assert len(list_files(tmp_path)) == 1  # the answer is still recorded
        assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
