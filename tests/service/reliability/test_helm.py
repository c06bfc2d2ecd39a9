"""Tests that the Helm chart renders valid manifests, uses existing options of service and watcher, and refuses bad values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploying import ROOT, check_manifest, find_helm, render_chart

from optassign.cli.parser import make_parser
from optassign_benchmarks.kafka.jars import ToolMissingError, watch_jar

pytestmark = pytest.mark.long

CHART = ROOT / "deploy" / "helm"
MANIFESTS = ROOT / "deploy" / "kubernetes"
VERSIONS = ("1.27.0", "1.37.0")
"""The first version that the chart allows, and the last with known schemas."""
OF_THE_OPERATOR = ("ServiceMonitor", "PodMonitor", "PrometheusRule")
"""Kinds that Kubernetes itself does not define."""
DIGEST = f"sha256:{'0a' * 32}"
EVERYTHING: dict[str, Any] = {
    "image": {"digest": DIGEST},
    "imagePullSecrets": [{"name": "registry"}],
    "service": {
        "workers": 4,
        "idleFollowupSeconds": 60,
        "extraArgs": ["--keep-days=7"],
        "applications": '[applications.orders]\nquiet_hours = ["22:00-06:00"]\n',
        "storage": {"size": "1Ti", "className": "fast"},
        "podAnnotations": {"prometheus.io/scrape": "true"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
    },
    "monitoring": {
        "labels": {"release": "prometheus"},
        "serviceMonitor": {"enabled": True, "ca": {"secret": None, "configMap": {"name": "optassign-ca", "key": "ca.crt"}}},
        "prometheusRule": {"enabled": True, "runbook": "https://docs.example/how-to/runbook/"},
    },
    "networkPolicy": {"extraFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]},
    "watcher": {
        "enabled": True, "groups": ["orders", "payments"], "extraArgs": ["--interval", "5"],
        "podAnnotations": {"prometheus.io/port": "8925"}, "nodeSelector": {"disk": "ssd"},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    file = tmp_path_factory.mktemp("helm") / "values.json"
    file.write_text(json.dumps(EVERYTHING), encoding="utf-8")
    return render_chart("--values", str(file))


def find_container(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (pod,) = (one["spec"]["template"]["spec"] for one in documents if one["kind"] == kind)
    (container,) = pod["containers"]
    return dict(container)


def test_helm_lint_passes() -> None:
    done = subprocess.run([find_helm(), "lint", "--strict", CHART], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_rendered_manifests_fit_the_schemas_of_kubernetes(everything: list[dict[str, Any]], version: str) -> None:
    documents = [*render_chart(), *everything]
    for file in MANIFESTS.rglob("*.yaml"):
        documents += yaml.safe_load_all(file.read_text(encoding="utf-8"))
    assert len(documents) > 12
    for document in documents:
        if document["kind"] not in OF_THE_OPERATOR:
            check_manifest(document, version)
    broken = json.loads(json.dumps(next(document for document in documents if document["kind"] == "StatefulSet")))
    broken["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(AssertionError, match="livenessProb"):
        check_manifest(broken, version)


def test_the_default_chart_renders_the_manifests() -> None:
    """The differences are labels, defaults of Kubernetes, and an option with its own default."""

    def simplify(document: dict[str, Any]) -> Any:
        text = json.loads(json.dumps(document))
        text["metadata"].pop("labels", None)
        spec = text["spec"]
        labels = {"app.kubernetes.io/name": "optassign"}
        if text["kind"] == "StatefulSet":
            spec["selector"]["matchLabels"] = spec["template"]["metadata"]["labels"] = labels
            (container,) = spec["template"]["spec"]["containers"]
            container.pop("imagePullPolicy", None)
            container["args"] = [each for each in container["args"] if not each.startswith("--idle-followup=")]
        elif text["kind"] == "Service":
            spec["selector"] = labels
        else:
            spec["podSelector"]["matchLabels"] = labels
        return text

    written = {}
    for file in MANIFESTS.glob("*.yaml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        written[document["kind"]] = simplify(document)
    assert {document["kind"]: simplify(document) for document in render_chart()} == written


def test_service_and_watcher_take_the_options(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    container = find_container(everything, "StatefulSet")
    arguments = make_parser().parse_args(["serve", *container["args"]])
    assert (arguments.workers, arguments.idle_followup, arguments.keep_days) == (4, 60, 7)
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    for file in (arguments.applications, arguments.token_file, arguments.tls_cert, arguments.tls_key):
        assert str(Path(file).parent) in mounts
    (applications,) = (one for one in everything if one["kind"] == "ConfigMap")
    assert applications["data"] == {Path(arguments.applications).name: EVERYTHING["service"]["applications"]}
    try:
        jar = watch_jar()
    except ToolMissingError as error:
        pytest.skip(str(error))
    watcher = find_container(everything, "Deployment")
    assert watcher["args"][watcher["args"].index("--groups") + 1] == "orders,payments"
    file = str(tmp_path / "admin.properties")
    told: list[str] = [file if each == "/etc/optassign/admin.properties" else each for each in watcher["args"]]
    done = subprocess.run(["java", "-jar", str(jar), *told], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"found the unreadable file {file}" in done.stderr, "it takes all options, and then misses its file"


def test_the_operator_scrapes_and_alerts_as_documented(everything: list[dict[str, Any]]) -> None:
    monitor, of_watcher, rule = (next(one for one in everything if one["kind"] == kind) for kind in OF_THE_OPERATOR)
    (service,) = (one for one in everything if one["kind"] == "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["tlsConfig"] == {
        "serverName": f"{service['metadata']['name']}.streams.svc",
        "ca": {"configMap": {"name": "optassign-ca", "key": "ca.crt"}},
    }
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "optassign", "the job of OptassignDown"
    (watcher,) = (one for one in everything if one["kind"] == "Deployment")
    labels = watcher["spec"]["template"]["metadata"]["labels"]
    assert of_watcher["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels[of_watcher["spec"]["jobLabel"]] != "optassign"
    (endpoint,) = of_watcher["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in find_container(everything, "Deployment")["ports"]]
    text = (ROOT / "docs" / "monitoring" / "alerts.yml").read_text(encoding="utf-8")
    told = yaml.safe_load(text.replace("docs/how-to/runbook.md", "https://docs.example/how-to/runbook/"))
    assert rule["spec"] == told
    assert all(one["metadata"]["labels"]["release"] == "prometheus" for one in (monitor, of_watcher, rule))


@pytest.mark.parametrize(("workers", "usual", "most"), [(1, "512Mi", "2Gi"), (2, "1Gi", "3Gi"), (5, "2560Mi", "6Gi")])
def test_memory_grows_with_the_workers(workers: int, usual: str, most: str) -> None:
    resources = find_container(render_chart("--set", f"service.workers={workers}"), "StatefulSet")["resources"]
    assert (resources["requests"]["memory"], resources["limits"]["memory"]) == (usual, most)
    own = find_container(render_chart("--set", "service.resources.limits.memory=9Gi"), "StatefulSet")["resources"]
    assert own == {"limits": {"memory": "9Gi"}}


def test_a_digest_goes_before_a_tag(everything: list[dict[str, Any]]) -> None:
    assert find_container(everything, "StatefulSet")["image"] == f"optassign@{DIGEST}"
    assert find_container(render_chart(), "StatefulSet")["image"] == "optassign:0.1.0"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("service.workers=0", "service/workers"),
        ("service.worker=2", "worker"),
        ("service.terminationGracePeriodSeconds=10", "terminationGracePeriodSeconds"),
        ("service.storage.size=12G", "storage/size"),
        ("watcher.metricsPort=80", "metricsPort"),
        ("image.digest=latest", "image/digest"),
        ("monitoring.serviceMonitor.token.name=", "token/name"),
    ],
)
def test_bad_values_are_refused(value: str, found: str) -> None:
    command = [str(find_helm()), "template", "optassign", str(CHART), "--kube-version", "1.37.0", "--set", value]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert found in done.stderr.replace(".", "/"), done.stderr


def test_each_value_has_a_comment_and_a_schema() -> None:
    """A comment is above each value or above its group of values."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert set(values) <= set(schema["properties"])
    for name in ("service", "networkPolicy", "watcher"):
        assert set(values[name]) == set(schema["properties"][name]["properties"])
    assert values["watcher"]["enabled"] is False
    assert yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"] == "0.1.0"
