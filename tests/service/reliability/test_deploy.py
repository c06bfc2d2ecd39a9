"""Tests that container, systemd unit and Kubernetes manifests of deploy/ fit the service, as far as no engine is needed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from serving import Service, make_state, read_answer, wait_until

from optassign.cli.parser import make_parser
from optassign.service.http.app import PAGES
from optassign.service.settings import Limits, Settings

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
IMAGE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "optassign.service").read_text(encoding="utf-8")
MANIFESTS = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in (DEPLOY / "kubernetes").glob("*.yaml")}
POD = MANIFESTS["statefulset"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def read_steps(stage: int) -> list[tuple[str, str]]:
    """Return (instruction, its arguments) for each step of a stage of the container file."""
    stages = re.split(r"^(?=FROM )", re.sub(r"^#.*\n", "", IMAGE, flags=re.MULTILINE).strip(), flags=re.MULTILINE)[1:]
    lines = [line.partition(" ") for line in stages[stage].splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in lines]


def read_command() -> list[str]:
    """Return the command line of the container, without arguments given at its start."""
    (entry,) = (json.loads(rest) for name, rest in read_steps(1) if name == "ENTRYPOINT")
    assert isinstance(entry, list)
    return entry


def read_unit(name: str) -> str:
    (found,) = re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    return str(found)


def test_files_that_the_image_copies_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [path for name, rest in read_steps(0) if name == "COPY" for path in rest.split()[:-1]]
    assert sorted(copied) == sorted(line.removeprefix("!") for line in ignored if line.startswith("!"))
    assert [path for path in copied if not (ROOT / path).exists()] == []


@pytest.mark.long
def test_the_steps_of_the_image_make_a_service_that_runs(tmp_path: Path) -> None:
    """Each step runs with the folders of the image below a temporary folder."""
    build = tmp_path / "build"
    build.mkdir()
    inside = {"/opt/optassign": str(tmp_path / "opt"), "/var/lib/optassign": str(tmp_path / "var")}
    owner = f"{os.getuid()}:{os.getgid()}"

    def translate(text: str) -> str:
        for path, place in inside.items():
            text = text.replace(path, place)
        return text.replace("10001:10001", owner).replace("python -m venv", f"{shlex.quote(sys.executable)} -m venv")

    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    for stage in (0, 1):
        for name, rest in read_steps(stage):
            if name == "COPY" and not rest.startswith("--from=build"):
                *sources, target = rest.split()
                for source in sources:
                    if (ROOT / source).is_dir():
                        skipped = shutil.ignore_patterns("__pycache__")
                        shutil.copytree(ROOT / source, build / target, symlinks=True, ignore=skipped)
                    else:
                        shutil.copy(ROOT / source, build / target)
            elif name == "RUN":
                done = subprocess.run(
                    ["sh", "-c", translate(rest)], cwd=build, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{rest}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    shutil.rmtree(build)  # the final image lacks it
    log = tmp_path / "log"
    command = [translate(part) for part in read_command()] + ["--port", "0", "--workers", "1"]
    with log.open("wb") as stream, subprocess.Popen(command, cwd=tmp_path, stderr=stream, env=environment) as service:
        try:
            wait_until(lambda: service.poll() is not None or '"worker_ready"' in log.read_text())
            assert service.poll() is None, log.read_text()
        finally:
            service.terminate()
    assert service.returncode == 0
    assert list((tmp_path / "var").iterdir()), "no recordings were set up"


def test_image_unit_and_pod_start_the_service_with_options_it_has() -> None:
    parser = make_parser()
    common = read_command()[1:]
    assert parser.parse_args([*common, *CONTAINER["args"]]).host == "0.0.0.0"
    unit = shlex.split(read_unit("ExecStart").replace("%S", "/var/lib"))
    assert unit[0] == read_command()[0]
    assert parser.parse_args(unit[1:]).recordings == "/var/lib/optassign" == parser.parse_args(common).recordings


def test_ports_and_pages_are_the_services() -> None:
    port = Settings().port
    assert [int(rest) for name, rest in read_steps(1) if name == "EXPOSE"] == [port]
    (named,) = CONTAINER["ports"]
    assert named["containerPort"] == port
    (offered,) = MANIFESTS["service"]["spec"]["ports"]
    assert (offered["port"], offered["targetPort"]) == (port, named["name"])
    (rule,) = MANIFESTS["networkpolicy"]["spec"]["ingress"]
    assert [each["port"] for each in rule["ports"]] == [port]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = CONTAINER[probe]["httpGet"]
        assert asked["port"] == named["name"]
        assert asked["scheme"] == "HTTPS"
        assert asked["path"] in PAGES & {"/healthz", "/readyz"}  # the pages that need no token


def test_all_manifests_select_the_same_pods() -> None:
    labels = MANIFESTS["statefulset"]["spec"]["template"]["metadata"]["labels"]
    assert MANIFESTS["statefulset"]["spec"]["selector"]["matchLabels"] == labels
    assert MANIFESTS["service"]["spec"]["selector"] == labels
    assert MANIFESTS["networkpolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert MANIFESTS["statefulset"]["spec"]["serviceName"] == MANIFESTS["service"]["metadata"]["name"]


def test_mounted_files_are_those_in_the_services_options() -> None:
    mounts = {each["name"]: each["mountPath"] for each in CONTAINER["volumeMounts"]}
    claims = {each["metadata"]["name"] for each in MANIFESTS["statefulset"]["spec"]["volumeClaimTemplates"]}
    assert set(mounts) == {each["name"] for each in POD["volumes"]} | claims
    arguments = make_parser().parse_args(["serve", *CONTAINER["args"]])
    for file, mount in ((arguments.token_file, "tokens"), (arguments.tls_cert, "tls"), (arguments.tls_key, "tls")):
        assert str(Path(file).parent) == mounts[mount]
    assert mounts["recordings"] == make_parser().parse_args(read_command()[1:]).recordings


def test_the_user_is_not_root_and_has_no_capabilities() -> None:
    (user,) = (rest for name, rest in read_steps(1) if name == "USER")
    context = POD["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert context["runAsUser"] != 0
    own = CONTAINER["securityContext"]
    assert (own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"], own["capabilities"]) == (
        False,
        True,
        {"drop": ["ALL"]},
    )


def test_limits_are_those_of_the_page() -> None:
    grace = POD["terminationGracePeriodSeconds"]
    assert int(read_unit("TimeoutStopSec")) == grace >= 60 + 30  # the longest deadline, and the margin of docs/how-to/deploy.md
    assert int(read_unit("LimitNOFILE")) >= 2 * Limits().connections
    memory = CONTAINER["resources"]["limits"]["memory"].removesuffix("i")
    assert read_unit("MemoryMax") == memory
    assert f"| memory, at most | {memory} |" in PAGE
    (claim,) = MANIFESTS["statefulset"]["spec"]["volumeClaimTemplates"]
    disk = claim["spec"]["resources"]["requests"]["storage"]
    assert int(disk.removesuffix("Gi")) << 30 > Settings().keep_bytes
    assert f"| disk for recordings | {disk.removesuffix('i')} |" in PAGE
    usual = CONTAINER["resources"]["requests"]["memory"].removesuffix("i")
    assert f"| memory, mostly | {usual} |" in PAGE
    assert f"| time to stop | {grace} s |" in PAGE


def test_workers_and_memory_agree_wherever_the_service_is_started() -> None:
    """With a worker too many for the memory, the kernel ends the service under load."""
    parser = make_parser()
    memory = CONTAINER["resources"]["limits"]["memory"].removesuffix("i")
    unit = parser.parse_args(shlex.split(read_unit("ExecStart"))[1:])
    pod = parser.parse_args([*read_command()[1:], *CONTAINER["args"]])
    composed = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8"))["services"]["optassign"]
    compose = parser.parse_args([*read_command()[1:], *composed["command"]])
    assert composed["mem_limit"].upper() == memory
    (shown,) = re.findall(r"podman run (.*?)\n```", PAGE.replace("\\\n", ""), re.DOTALL)
    assert f"--memory {memory.lower()} " in shown
    run = parser.parse_args([*read_command()[1:], *shlex.split(shown.partition("optassign:0.1.0 ")[2])])
    assert {each.workers for each in (unit, pod, compose, run)} == {int(memory.removesuffix("G")) - 1}


def test_the_application_fits_the_service_and_its_own_hooks() -> None:
    text = (DEPLOY / "kubernetes" / "application" / "statefulset.yaml").read_text(encoding="utf-8")
    documents = {document["kind"]: document for document in yaml.safe_load_all(text)}
    pod = documents["StatefulSet"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    script = documents["ConfigMap"]["data"]["drain.sh"]
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    given = {each["name"]: each for each in container["env"]}
    read = set(re.findall(r"\$\{?([A-Z_]+)", script))
    assert read - set(given) == {"KUBERNETES_ACCOUNT", "KUBERNETES_API"}, "these have defaults"
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    for variable in ("OPTASSIGN_CA_FILE", "OPTASSIGN_TOKEN_FILE"):
        assert str(Path(given[variable]["value"]).parent) in mounts
    for hook in container["lifecycle"].values():
        assert str(Path(hook["exec"]["command"][1]).parent) in mounts
    assert int(given["DRAIN_SECONDS"]["value"]) + 60 <= pod["spec"]["terminationGracePeriodSeconds"]
    (rule,) = documents["Role"]["rules"]
    name = documents["StatefulSet"]["metadata"]["name"]
    assert (rule["resourceNames"], documents["RoleBinding"]["roleRef"]["name"]) == (
        [name],
        documents["Role"]["metadata"]["name"],
    )
    assert pod["spec"]["serviceAccountName"] == documents["ServiceAccount"]["metadata"]["name"]
    peer, prometheus = MANIFESTS["networkpolicy"]["spec"]["ingress"][0]["from"]
    assert set(prometheus) == {"namespaceSelector", "podSelector"}, "Prometheus is in another namespace"
    assert peer["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    service = MANIFESTS["service"]
    port = service["spec"]["ports"][0]["port"]
    assert given["OPTASSIGN_URL"]["value"] == f"https://{service['metadata']['name']}:{port}"


def test_every_file_is_on_the_page() -> None:
    """A chart, an example or a folder of settings is named as a whole."""
    whole = ("helm", "examples", "compose")
    files = [path.relative_to(DEPLOY) for path in DEPLOY.rglob("*") if path.is_file()]
    names = {f"deploy/{path.parts[0] if path.parts[0] in whole else path.as_posix()}" for path in files}
    assert [name for name in sorted(names) if name not in PAGE] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit_and_rates_it_well(tmp_path: Path) -> None:
    unit = tmp_path / "optassign.service"
    unit.write_text(UNIT.replace("/opt/optassign/bin/optassign", sys.executable), encoding="utf-8")
    checked = run_analyze("verify", "--man=no", unit)
    assert (checked.returncode, checked.stderr.strip()) == (0, "")
    judged = run_analyze("security", "--offline=true", "--no-pager", unit)
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)
    assert float(exposure) <= 2.0


def run_analyze(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_service_needs_no_memory_that_is_writable_and_executable(one_worker: Service, switch: Path) -> None:
    """The kernel's switch for the unit's `MemoryDenyWriteExecute`, which children inherit, is set for `one_worker`."""
    if (switch / "missing").exists():
        pytest.skip("needs Linux 6.3 or later")
    assert read_answer(one_worker.assign(make_state("no-such-memory"))).clients
