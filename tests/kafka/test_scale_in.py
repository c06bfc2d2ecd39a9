"""Tests of a scale-in on Kubernetes: the preStop hook drains the instance, so that no task waits for its state.

The hook is the script of deploy/kubernetes/application. The test acts as kubelet and as Kubernetes' API.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from optassign_benchmarks.kafka.group import LAG, PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

_MANIFEST = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes" / "application" / "statefulset.yaml"
_OPERATOR = "operator-token-0123456789"
_ACCOUNT = "token-of-the-service-account"
_TASKS = 12
"""Tasks with a changelog."""


class Cluster:
    """Kubernetes' API as a pod sees it: the number of requested pods."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replicas = 3
        self.asked: list[tuple[str, str | None]] = []


@contextmanager
def run_cluster() -> Iterator[Cluster]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cluster.asked.append((self.path, self.headers["Authorization"]))
            spec = {"replicas": cluster.replicas} if cluster.replicas else {}
            scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": spec, "status": {"replicas": 3}}
            content = json.dumps(scale, indent=2).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cluster = Cluster(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield cluster
        server.shutdown()


class Pod:
    """An instance with the hooks of the manifest."""

    def __init__(self, group: StreamsApplication, name: str, service: ServiceProcess, cluster: Cluster, folder: Path) -> None:
        documents = list(yaml.safe_load_all(_MANIFEST.read_text(encoding="utf-8")))
        (script,) = (one["data"]["drain.sh"] for one in documents if one["kind"] == "ConfigMap")
        (self._spec,) = (one["spec"]["template"]["spec"] for one in documents if one["kind"] == "StatefulSet")
        (self._container,) = self._spec["containers"]
        self._group, self._name, self._folder = group, name, folder
        for file, text in (("drain.sh", script), ("operator", _OPERATOR), ("token", _ACCOUNT), ("ca.crt", "")):
            (folder / file).write_text(text, encoding="utf-8")
        stated = {each["name"]: each["value"] for each in self._container["env"] if "value" in each}
        self._environment = {
            **os.environ,
            **stated,
            "POD_NAME": name,
            "POD_NAMESPACE": "default",
            "APPLICATION": group.application,
            "OPTASSIGN_URL": service.url,
            "OPTASSIGN_CA_FILE": str(folder / "ca.crt"),
            "OPTASSIGN_TOKEN_FILE": str(folder / "operator"),
            "KUBERNETES_API": cluster.url,
            "KUBERNETES_ACCOUNT": str(folder),
        }

    def run_hook(self, name: str) -> float:
        """Run a lifecycle hook; return its seconds. AssertionError if it fails or outlasts the grace period."""
        command = self._container["lifecycle"][name]["exec"]["command"]
        local = [part.replace("/opt/drain", str(self._folder)) for part in command]
        begun = time.monotonic()
        grace = self._spec["terminationGracePeriodSeconds"]
        done = subprocess.run(
            local, env=self._environment, capture_output=True, text=True, check=False, timeout=grace, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr
        return time.monotonic() - begun

    def end(self) -> float:
        """Act as the kubelet: run the hook, then send the signal; return the seconds of the hook."""
        seconds = self.run_hook("preStop")
        self._group.stop(self._name)
        return seconds


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[ServiceProcess]:
    tokens = folder / "tokens"
    tokens.write_text(f"{_OPERATOR} may=drain name=hook\n", encoding="utf-8")
    with ServiceProcess(folder / "guarded", "json", "--token-file", str(tokens), "--idle-followup", "10") as service:
        yield service


def describe(service: ServiceProcess, application: str) -> dict[str, Any]:
    request = Request(f"{service.url}/v1/applications/{application}", headers={"Authorization": f"Bearer {_OPERATOR}"})
    with urlopen(request, timeout=30) as response:
        found: dict[str, Any] = json.load(response)
        return found


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_a_scale_in_restores_nothing_and_a_restart_moves_nothing(
    new_group: Callable[..., StreamsApplication], guarded: ServiceProcess, tmp_path: Path
) -> None:
    settings = {"optassign_url": guarded.url, "optassign_token": _OPERATOR, "num_standby_replicas": 0}
    group = new_group("orders-in", **settings, main_consumer_session_timeout_ms=30_000)
    names = [f"orders-in-{number}" for number in range(3)]
    for name in names:
        group.configure(group_instance_id=name)
        group.start(name)
    group.await_complete()
    settled = {"balanced": False}

    def at_rest() -> bool:
        placement = group.await_complete()
        sizes = [len(tasks) for tasks in placement.active.values()]
        settled["balanced"] = max(sizes) - min(sizes) <= 1 and describe(guarded, group.application)["waits_for"].startswith(
            "nothing"
        )
        return settled["balanced"]

    await_condition("at rest", at_rest, logs=group.logs)
    group.await_caught_up()

    with run_cluster() as cluster:
        pod = Pod(group, names[2], guarded, cluster, tmp_path)
        pod.run_hook("postStart")  # no drain is left to cancel, which is no error

        # A rolling restart requests as many pods as before: the pod keeps its tasks and returns within the session time-out.
        owned, before = group.await_complete().active[names[2]], group.generation
        assert owned
        assert pod.end() < 5
        assert describe(guarded, group.application)["drains"] == []
        group.configure(group_instance_id=names[2])
        group.start(names[2])
        group.await_complete()
        assert group.await_complete().active[names[2]] == owned
        assert group.generation - before <= 2, "it is back before the broker misses it"
        group.await_caught_up()

        # A scale-in.
        cluster.replicas = 2
        others = [group.instances[name] for name in names[:2]]
        restored = sum(each.status().restored_active for each in others)
        seconds = pod.end()
        group.await_complete()
        assert sum(each.status().restored_active for each in others) - restored <= LAG * _TASKS < PRELOAD * _TASKS
        print(f"the hook took {seconds:.1f} s")
        path, account = cluster.asked[-1]
        assert path == "/apis/apps/v1/namespaces/default/statefulsets/orders-in/scale"
        assert account == f"Bearer {_ACCOUNT}"
        await_condition(
            "the drain is over once the instance has gone",
            lambda: describe(guarded, group.application)["drains"] == [],
            found=lambda: describe(guarded, group.application),
            logs=group.logs,
        )
    sizes = sorted(len(tasks) for tasks in group.await_complete().active.values())
    assert sizes[-1] - sizes[0] <= 1
    group.load.await_accounted()
