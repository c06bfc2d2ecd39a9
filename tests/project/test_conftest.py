"""Tests of tests/conftest.py: a skip for missing programs passes locally and fails in continuous integration."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

BY_MARKER = """
import pytest

@pytest.mark.{marker}
@pytest.mark.skip(reason="no broker")
def test_marked():
    pass
"""
IN_BODY = """
import pytest

def test_skips_itself():
    pytest.skip("no broker")
"""
AT_IMPORT = 'import pytest; pytest.importorskip("no_such_library")'
EXPECTED_FAILURE = """
import pytest

@pytest.mark.xfail(reason="known")
def test_known():
    assert False
"""


WHO_RUNS_IT = """
import os
import pytest

@pytest.mark.parametrize("number", range(10))
def test_by(number):
    with open(os.environ["RAN_BY"], "a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], __name__, file=file)
"""


def write_tests(pytester: pytest.Pytester, files: dict[str, str]) -> None:
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers = kafka\n spark\n java\n long\n")
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str | None, files: dict[str, str]) -> dict[str, int]:
    write_tests(pytester, files)
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    result = pytester.runpytest_subprocess("--continue-on-collection-errors", "--strict-markers", "-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    return {name: outcomes[name] for name in outcomes if name in {"passed", "skipped", "failed", "errors", "xfailed"}}


def test_a_skip_fails_only_with_ci_set(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "test_a.py": BY_MARKER.format(marker="kafka"),
        "spark/test_b.py": IN_BODY,
        "java/test_c.py": AT_IMPORT,
        "test_d.py": BY_MARKER.format(marker="long"),
        "test_e.py": AT_IMPORT,
        "kafka/test_f.py": EXPECTED_FAILURE,
    }
    assert run(pytester, monkeypatch, None, files) == {"skipped": 5, "xfailed": 1}
    assert run(pytester, monkeypatch, "false", files) == {"skipped": 5, "xfailed": 1}
    assert run(pytester, monkeypatch, "true", files) == {"errors": 2, "failed": 1, "skipped": 2, "xfailed": 1}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_missing_programs_are_in_one_table(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    monkeypatch.delenv("CI", raising=False)
    write_tests(
        pytester, {"spark/test_a.py": IN_BODY, "java/test_b.py": AT_IMPORT, "java/test_c.py": IN_BODY, "test_d.py": IN_BODY}
    )
    told = pytester.runpytest_subprocess("-n", workers, "-p", "no:cacheprovider").outlines
    rows = [line.split() for line in told if line.startswith("tests/")]
    assert [row[:4] for row in rows] == [["tests/java", "2", "needs", "a"], ["tests/spark", "1", "needs", "a"]]
    assert all("apt-get install" in " ".join(row) for row in rows)
    assert any(line.split()[:2] == ["others", "1"] and "no broker" in line for line in told)
    assert "4 skipped" in told[-1], "pytest's own line closes the output"


def test_one_worker_runs_all_tests_of_a_real_thing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise each worker would start its own cluster."""
    names = ["spark/test_a.py", "spark/test_b.py", "kafka/test_c.py", "kafka/test_d.py", "test_e.py"]
    write_tests(pytester, dict.fromkeys(names, WHO_RUNS_IT))
    ran = tmp_path / "ran"
    monkeypatch.setenv("RAN_BY", str(ran))
    pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider").assert_outcomes(passed=50)
    workers: dict[str, set[str]] = {}
    for line in ran.read_text(encoding="utf-8").splitlines():
        worker, module = line.split()
        workers.setdefault(module, set()).add(worker)
    assert len(workers["test_a"] | workers["test_b"]) == 1, workers
    assert len(workers["test_c"] | workers["test_d"]) == 1, workers
