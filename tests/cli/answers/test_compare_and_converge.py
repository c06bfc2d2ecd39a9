"""Tests of `compare` and `converge`: assignors side by side, and one assignor until the group is at rest.
They test `optassign.cli.commands.answers.converge`."""

import json
import re
from pathlib import Path

import pytest
from command_line import KeepingAssignor, run_here

from optassign import assignor as assignors
from optassign.formats.assignment import TaskAssignment
from optassign.formats.json_input import read_state
from optassign.formats.state import ApplicationState
from optassign.simulation.convergence import converge

# compare


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [("keep", 0, "none"), ("cold", 1, "R3"), ("twice", 1, "twice has no assignment")],
)
def test_compare_tells_who_broke_a_rule(
    capsys: pytest.CaptureFixture[str], scale_out: str, name: str, code: int, message: str
) -> None:
    found, out, err = run_here(capsys, "compare", scale_out, "--assignors", name, "--format", "table")
    assert (found, err) == (code, "")
    assert message in out


# converge


def test_converge_plays_until_the_group_rests(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, err = run_here(capsys, "converge", scale_out, "--assignor", "greedy", "--json")
    found = json.loads(out)
    assert (code, err, found["stable"]) == (0, "", True)
    assert len(found["history"]) == found["rebalances"]
    code, out, _ = run_here(capsys, "converge", scale_out, "--assignor", "greedy", "--keep-state", "--format", "table")
    assert code == 0
    assert "converged · stable" in out
    assert "offsets restored" in out
    assert re.search(r"^\d+ active task migrations?, \d+ of logged tasks; ", out, re.MULTILINE)
    assert out.splitlines()[1].split()[:3] == ["#", "moved", "again"]


def test_converge_lets_changelogs_grow(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    def play(*arguments: str) -> list[int]:
        code, out, err = run_here(capsys, "converge", scale_out, "--assignor", "greedy", "--json", *arguments)
        assert (code, err) == (0, "")
        return [step["restored_offsets"] for step in json.loads(out)["history"]]

    grown = converge(read_state(Path(scale_out)), "greedy", growth=0.5, seed=3)
    assert play("--growth", "0.5", "--seed", "3") == [step.restored_offsets for step in grown.history]
    assert play("--growth", "0.5", "--seed", "3") != play("--growth", "0.5") != play()


@pytest.mark.parametrize(("arguments", "remembered"), [((), [False, True]), (("--without-memory",), [False, False])])
def test_converge_drops_state_if_requested(
    capsys: pytest.CaptureFixture[str], snapshot: str, arguments: tuple[str, ...], remembered: list[bool]
) -> None:
    seen: list[bool] = []

    class Noting(KeepingAssignor):
        def assign(self, state: ApplicationState) -> TaskAssignment:
            seen.append(state.remembered is not None)
            return super().assign(state)

    assignors.register("noting", Noting)
    run_here(capsys, "converge", snapshot, "--assignor", "noting", *arguments)
    assert seen == remembered


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--assignor", "cold"), "R3"), (("--assignor", "greedy", "--max-rebalances", "1"), "did not converge")],
)
def test_converge_reports_broken_rules_and_endless_convergences(
    capsys: pytest.CaptureFixture[str], scale_out: str, arguments: tuple[str, ...], message: str
) -> None:
    code, out, _ = run_here(capsys, "converge", scale_out, *arguments, "--format", "table")
    assert code == 1
    assert message in out
