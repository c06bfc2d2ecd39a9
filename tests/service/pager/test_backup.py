"""Tests of backup, restore and downgrade, as described in docs/how-to/availability.md."""

import gzip
import json
import shutil
from pathlib import Path

from serving import list_files, make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here

OPTIONS = ("--workers", "1", "--recordings")


def ask(service: ServiceHere, application: str) -> None:
    """Have an application assigned and recorded, then pause it."""
    known = service.read_metric("optassign_recordings_written_total") or 0
    service.assign(make_state(application))
    wait_until(lambda: (service.read_metric("optassign_recordings_written_total") or 0) > known)
    response = service.client.post(f"/v1/applications/{application}/pause", headers={"Optassign-Protocol": "1"})
    assert response.status_code == 200, response.text


def check_restored(folder: Path) -> None:
    """Check that the application is paused and its last assignment remembered."""
    with run_service_here(*OPTIONS, str(folder)) as service:
        (held,) = service.client.get("/v1/applications").json()["applications"]
        assert (held["application"], held["paused"] is not None) == ("orders", True)
        assert service.read_metric("optassign_remembered_applications") == 1
        assert service.read_metric("optassign_operator_requests_lost") == 0
        service.client.delete("/v1/applications/orders/pause", headers={"Optassign-Protocol": "1"})
        again = read_answer(service.assign(make_state("orders")))
        assert service.wait_for("rebalance", application="orders")["memory"] == "service"
        assert again.clients
    assert len(list_files(folder / "orders")) == 2


def test_a_copy_of_a_running_service_is_a_backup(tmp_path: Path) -> None:
    with run_service_here(*OPTIONS, str(tmp_path / "own")) as service:
        ask(service, "orders")
        shutil.copytree(tmp_path / "own", tmp_path / "backup")
        ask(service, "payments")
    check_restored(tmp_path / "backup")


def test_a_downgrade_reads_files_of_a_newer_version(tmp_path: Path) -> None:
    """Fields unknown to this version lose neither a pause nor the last assignment."""
    with run_service_here(*OPTIONS, str(tmp_path)) as service:
        ask(service, "orders")
    file = tmp_path / ".operator-requests.json"
    holds = json.loads(file.read_text(encoding="utf-8"))
    holds["newer"] = holds["applications"]["orders"]["newer"] = holds["applications"]["orders"]["paused"]["newer"] = 1
    file.write_text(json.dumps(holds), encoding="utf-8")
    (path,) = list_files(tmp_path / "orders")
    recording = json.loads(gzip.decompress(path.read_bytes()))
    for part in (recording["summary"], recording["assignment"]["report"], recording["snapshot"]["configs"]):
        part["newer"] = {"more": 1}
    newer = {"newer": 1, **recording}
    path.write_bytes(gzip.compress(json.dumps(newer).encode()))
    check_restored(tmp_path)
