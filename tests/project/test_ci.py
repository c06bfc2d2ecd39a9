"""Tests of the programs in .ci/: the audit, the checks of tags, and the notes of a release."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return load("audit")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CI / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOUND = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "c", "version": "3", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("dependencies", "code", "message"),
    [
        ([SOUND], 0, "no weakness is known of any of 1 packages"),
        ([SOUND, WEAK], 1, "b 2: CVE-1, mended in 2.1"),
        ([WEAK, UNKNOWN], 1, "b 2: CVE-1, mended in 2.1"),
        ([SOUND, UNKNOWN], 3, "does not answer for 1 of 2 packages: nothing is known"),
        ([], 3, "nothing is known"),
        (None, 3, "cannot be reached: nothing is known (no route to host)"),
    ],
)
def test_an_audit_never_passes_unchecked_packages(audit: ModuleType, dependencies: Any, code: int, message: str) -> None:
    out = "" if dependencies is None else json.dumps({"dependencies": dependencies})
    found = audit.judge(subprocess.CompletedProcess([], 1, out, "Traceback\nno route to host\n"))
    assert found[0] == code
    assert message in found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "usage: .ci/release TAG"), (["v9.9.9"], "found tag v9.9.9; allowed: v0.1.0"), (["0.1.0"], "found tag 0.1.0")],
)
def test_only_a_tag_of_the_version_is_released(arguments: list[str], message: str) -> None:
    ended = subprocess.run([CI / "release", *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode in (1, 2, 127)
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("changelog", "notes"),
    [
        ("# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0\n\n- old\n", "# optassign 0.1.0\n\n- old\n"),
        ("# Changelog\n\n## Unreleased\n\n### Added\n\n- new\n", "# optassign 0.1.0\n\n### Added\n\n- new\n"),
        ("# Changelog\n\n## 0.1.0 - 2026-12-01\n\n- dated\n", "# optassign 0.1.0\n\n- dated\n"),
    ],
)
def test_notes_are_the_section_of_the_version(building: ModuleType, changelog: str, notes: str) -> None:
    assert building.write_notes(changelog, "0.1.0") == notes


def test_a_release_without_notes_is_refused(building: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"no section 0\.1\.0"):
        building.write_notes("# Changelog\n\n## 0.0.9\n\n- old\n", "0.1.0")


@pytest.fixture(scope="module")
def building() -> Iterator[ModuleType]:
    sys.path.insert(0, str(CI))
    yield load("build_release")
    sys.path.remove(str(CI))
