"""Tools that check the files of deploy/: Helm, and the schemas of Kubernetes and of compose files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
_TOOLS = ROOT / "build" / "tools"
_HELM = "helm.sh/helm/v3/cmd/helm@v3.19.5"
_KUBERNETES = ("kubernetes-validate==1.37.0", "kubernetes_validate/kubernetes-json-schema/v{version}-local-strict")
"""The package, and its folder with the schemas of a version, which refuse unknown fields."""
_COMPOSE = ("check-jsonschema==0.39.0", "check_jsonschema/builtin_schemas/vendor/compose-spec.json")


@cache
def find_helm() -> Path:
    """Return Helm, built by Go from its sources if it is missing; skip the test without either."""
    found = shutil.which("helm")
    if found is not None:
        return Path(found)
    built = _TOOLS / "helm"
    if not built.exists():
        if shutil.which("go") is None:
            pytest.skip("needs Helm, or Go to build it")
        _TOOLS.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOBIN": str(_TOOLS), "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        command = ["go", "install", _HELM]
        done = subprocess.run(command, env=environment, cwd=_TOOLS, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"needs Helm, and {_HELM} cannot be built: {done.stderr[-500:]}")
    return built


@cache
def _open_wheel(package: str) -> zipfile.ZipFile:
    """Return the opened wheel of a package, downloaded if missing, or skip the test. Not installed: one has 10,000 files."""
    pattern = f"{package.replace('-', '_').replace('==', '-')}-*.whl"
    if not any(_TOOLS.glob(pattern)):
        _TOOLS.mkdir(parents=True, exist_ok=True)
        options = ["--quiet", "--no-deps", "-d", str(_TOOLS)]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", *options, package], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"needs the wheel of {package}: {done.stderr[-300:]}")
    return zipfile.ZipFile(max(_TOOLS.glob(pattern)))


def check_manifest(document: dict[str, Any], version: str) -> None:
    """Raise AssertionError if that version of Kubernetes does not know the kind, or refuses a field."""
    package, folder = _KUBERNETES
    wheel = _open_wheel(package)
    group, _, api = document["apiVersion"].rpartition("/")
    parts = [document["kind"], *([group.split(".")[0]] if group else []), api]
    name = f"{folder.format(version=version)}/{'-'.join(parts).lower()}.json"
    assert name in wheel.namelist(), f"{document['apiVersion']} {document['kind']} is unknown"
    validator = jsonschema.Draft7Validator(json.loads(wheel.read(name)), registry=_make_registry(wheel, name))
    errors = list(validator.iter_errors(document))
    assert not errors, [f"{error.json_path}: {error.message}" for error in errors]


def _make_registry(wheel: zipfile.ZipFile, name: str) -> Any:
    """Return a registry that resolves references of a schema to files next to it."""
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    folder = name.rpartition("/")[0]

    def retrieve(uri: str) -> Resource[Any]:
        file = f"{folder}/{uri.rpartition('/')[2]}"
        return Resource.from_contents(json.loads(wheel.read(file)), default_specification=DRAFT7)

    return Registry(retrieve=retrieve)  # type: ignore[call-arg]


def check_compose(document: dict[str, Any]) -> None:
    """Raise AssertionError if a compose file does not fit the Compose Specification."""
    package, name = _COMPOSE
    schema = json.loads(_open_wheel(package).read(name))
    errors = [
        f"{error.json_path}: {error.message}"
        for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(document)
    ]
    assert not errors, errors


def render_chart(*options: str) -> list[dict[str, Any]]:
    """Return the manifests of the chart. AssertionError with Helm's output if it fails."""
    command = [
        str(find_helm()),
        "template",
        "optassign",
        str(ROOT / "deploy" / "helm"),
        "--namespace",
        "streams",
        "--kube-version",
        "1.37.0",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]
