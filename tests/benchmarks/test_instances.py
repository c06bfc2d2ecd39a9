"""Tests of the instances with best-known values: reproducible snapshots, correct scores, refusals by name.
They test `optassign_benchmarks.instances.best_known`."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import run_here

from optassign.assignor import assign
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.measuring.facts import Facts
from optassign_benchmarks.instances.catalogue import GENERATOR, SIZES, Instance, list_instances
from optassign_benchmarks.instances.leaderboard import list_refused, summarise
from optassign_benchmarks.instances.scoring import (
    IMBALANCE,
    Score,
    extract_target,
    find_fault,
    find_gap,
    measure_target,
    score_assignor,
)
from optassign_benchmarks.instances.table import FILE, BestKnown, OtherGeneratorError, check_snapshot, read_best_known

KNOWN = read_best_known()
TINY = [instance for instance in list_instances() if instance.size == "tiny"]


def name(instance: Instance) -> str:
    return instance.name


def test_each_instance_has_best_known_values() -> None:
    assert [row.instance for row in KNOWN.values()] == [instance.name for instance in list_instances()]
    assert {row.generator for row in KNOWN.values()} == {GENERATOR}
    for row in KNOWN.values():
        for known in row.values:
            assert not known.checked or known.proven, (row.instance, known)
            within = 0.051 if known.name == "load" else 1e-9  # the tolerance of the options
            assert not known.proven or known.bound == pytest.approx(known.value, rel=within), (row.instance, known)


@pytest.mark.parametrize("instance", [each for each in list_instances() if each.tasks <= 100], ids=name)
def test_the_generator_still_makes_the_instance(instance: Instance) -> None:
    check_snapshot(instance.make(), KNOWN[instance.name])


def test_another_snapshot_is_refused() -> None:
    first, second = TINY[:2]
    with pytest.raises(OtherGeneratorError, match="allowed: the digest"):
        check_snapshot(first.make(), KNOWN[second.name])


@pytest.mark.parametrize("instance", TINY, ids=name)
def test_cp_sat_still_finds_the_best_known_target(instance: Instance) -> None:
    score = score_assignor(instance.make(), KNOWN[instance.name], "cp-sat", 10.0)
    assert (score.refused, score.gap and score.gap.goal) == ("", "")


@pytest.mark.parametrize("name", ["counts-partial-100x10x1", "zones-partial-36x6x1", "counts-restart-100x10x1"])
def test_a_target_is_scored_by_the_goals_of_the_rules(name: str) -> None:
    """Copies that R3 to R5 force count in the report of an answer and in the score of its target alike."""
    state = next(each for each in list_instances() if each.name == name).make()
    answer = assign(state)
    stage = "plan" if any(goal.stage == "plan" for goal in answer.report.goals) else "now"
    reported = {goal.name: goal.value for goal in answer.report.goals if goal.stage == stage}
    measured = measure_target(Facts(state, extract_target(answer)))
    assert {goal: measured[goal] for goal in reported if goal in measured} == {
        goal: value for goal, value in reported.items() if goal in measured
    }
    assert measured["restore_work"] == KNOWN[name].best["restore_work"]


def test_one_instance_is_scored_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "benchmark", "instances", TINY[0].name, "--json")
    assert code == 0
    assert [(score["instance"], score["assignor"]) for score in json.loads(out)] == [
        (TINY[0].name, "cp-sat"),
        (TINY[0].name, "greedy"),
    ]
    code, _, err = run_here(capsys, "benchmark", "instances", "no-such")
    assert code == 2
    assert "NAME: found 'no-such'" in err


def keep_better(folder: Path, instance: Instance, worse: dict[str, Any]) -> BestKnown:
    """Return the row of an instance after cp-sat's answer improved on a worse row."""
    table = folder / "table.json"
    table.write_text(json.dumps([worse]))
    (folder / f"{instance.name}.json").write_text(assign(instance.make()).model_dump_json())
    command = [sys.executable, "-m", "optassign_benchmarks.instances.best_known", "--table", str(table)]
    subprocess.run([*command, "--answers", str(folder)], check=True, capture_output=True)
    return read_best_known(table)[instance.name]


def test_a_new_table_begins_with_the_known_values(tmp_path: Path) -> None:
    """The package stays as it is; a folder that is missing is an error."""
    (tmp_path / f"{TINY[0].name}.json").write_text(assign(TINY[0].make()).model_dump_json())
    command = [sys.executable, "-m", "optassign_benchmarks.instances.best_known", "--table", str(tmp_path / "mine.json")]
    done = subprocess.run([*command, "--answers", str(tmp_path / "none")], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--answers: found no folder" in done.stderr
    subprocess.run([*command, "--answers", str(tmp_path)], check=True, capture_output=True)
    assert read_best_known(tmp_path / "mine.json") == KNOWN


def test_better_answers_are_kept_with_the_bounds_that_hold(tmp_path: Path) -> None:
    """A better answer replaces the known value of a table, and only bounds that hold for its target stay."""
    instance = next(each for each in TINY if each.name == "counts-scale-out-12x3x1")
    worse = json.loads(KNOWN[instance.name].model_dump_json())
    work = next(value for value in worse["values"] if value["name"] == "restore_work")
    work.update(value=2 * work["value"], proven=False, checked=False)
    row = keep_better(tmp_path, instance, worse)
    assert row.best == KNOWN[instance.name].best
    assert row.values[1].bound == work["bound"]
    assert row.values[2].bound is None, "it was about targets as good as the worse one"


def test_a_better_answer_whose_load_is_within_the_tolerance_keeps_the_bounds(tmp_path: Path) -> None:
    instance = next(each for each in TINY if each.name == "load-scale-in-12x3x1")
    worse = json.loads(KNOWN[instance.name].model_dump_json())
    load, work, *_, last = worse["values"]
    load.update(value=1.001)
    last.update(value=last["value"] + 1, bound=None, proven=False, checked=False)
    row = keep_better(tmp_path, instance, worse)
    assert row.best == KNOWN[instance.name].best
    assert row.values[0].proven
    assert row.values[1].bound == work["bound"]


@pytest.mark.parametrize("fault", ["R1", "R2", "R4"])
def test_a_target_that_breaks_a_rule_is_refused(fault: str) -> None:
    state = next(each for each in TINY if each.name == "counts-scale-out-12x3x1").make()
    rows = {client.process_id: [list(client.active), list(client.standby)] for client in extract_target(assign(state)).clients}
    first, second = (rows[process_id] for process_id in list(rows)[:2])
    task = next(task for task in first[0] if task not in second[1] and state.all_tasks[task].logged)
    if fault == "R1":
        first[0].remove(task)
    elif fault == "R2":
        first[1].append(task)
    else:
        second[1].append(task)
    clients = [KafkaStreamsAssignment(process_id=key, active=tuple(a), standby=tuple(s)) for key, (a, s) in rows.items()]
    broken = find_fault(state, TaskAssignment(assignor="mine", clients=tuple(clients)))
    assert broken is not None
    assert broken.startswith(fault)


def test_a_limit_that_is_not_kept_is_refused() -> None:
    instance = next(each for each in list_instances() if each.variant == "forbid" and each.tasks == 36)
    score = score_assignor(instance.make(), KNOWN[instance.name], "sticky", 10.0)
    assert score.refused.startswith("limit ")


def change_known(known: BestKnown, name: str, value: int) -> BestKnown:
    values = [each.model_copy(update={"value": value} if each.name == name else {}) for each in known.values]
    return known.model_copy(update={"values": tuple(values)})


def test_the_gap_names_the_first_value_that_differs() -> None:
    instance = next(each for each in TINY if each.name == "counts-scale-out-12x3x1")
    known = KNOWN[instance.name]
    half = change_known(known, "restore_work", int(known.best["restore_work"]) // 2)
    worse = score_assignor(instance.make(), half, "cp-sat", 10.0).gap
    assert worse is not None
    assert worse.goal == "restore_work"
    assert worse.share == pytest.approx(1.0, abs=1e-3)
    assert not worse.is_better
    better = score_assignor(instance.make(), change_known(known, IMBALANCE, 5), "cp-sat", 10.0).gap
    assert better is not None
    assert (better.goal, better.is_better, better.share) == (IMBALANCE, True, -1.0)


def test_a_gap_to_a_best_known_value_of_0_has_no_share() -> None:
    name = "load-scale-out-36x4x1"
    assert KNOWN[name].best["restore_work"] == 0
    state = next(each for each in list_instances() if each.name == name).make()
    target = extract_target(assign(state))
    facts = Facts(state, target)
    moved = measure_target(facts) | {"restore_work": 7}
    gap = find_gap(facts, moved, KNOWN[name])
    assert (gap.goal, gap.value, gap.is_better, gap.share) == ("restore_work", 7, False, None)
    scores = [Score(name, "mine", 0.1, moved, gap), Score(name, "yours", 0.1, moved, replace(gap, share=0.5))]
    assert [(row[0], row[5], row[6]) for row in summarise(scores)] == [("mine", 1, "–"), ("yours", 1, "+50.0%")]


def test_the_tolerance_of_a_proven_load_counts_once() -> None:
    """The known load of 1.0484 uses the tolerance of 5% itself."""
    known = KNOWN["load-scale-out-36x4x1"]
    state = next(each for each in list_instances() if each.name == known.instance).make()
    facts = Facts(state, extract_target(assign(state)))
    measured = measure_target(facts)
    assert find_gap(facts, {**measured, "load": 1.04999, "standby_migrations": 0}, known).goal != "load"
    gap = find_gap(facts, {**measured, "load": 1.06}, known)
    assert (gap.goal, gap.is_better) == ("load", False)


def test_the_page_has_the_sizes_of_the_catalogue() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "instances.md").read_text(encoding="utf-8")
    for size, groups in SIZES.items():
        number = sum(instance.size == size for instance in list_instances())
        described = ", ".join(f"{tasks:,} × {clients:,}" for tasks, clients in groups)
        assert f"| {size} | {described} | {number} |" in page
    assert f"\n{len(list_instances())} instances have" in page


def test_an_interrupt_writes_the_scores_so_far(tmp_path: Path) -> None:
    """The assignor stands for the user, who interrupts the second instance."""
    (tmp_path / "mine.py").write_text(
        "from optassign.assignors.greedy import GreedyAssignor\n\n\n"
        "class Impatient(GreedyAssignor):\n"
        "    name = 'impatient'\n\n"
        "    def assign(self, state):\n"
        f"        if state.application == {TINY[1].name!r}:\n"
        "            raise KeyboardInterrupt\n"
        "        return super().assign(state)\n",
        encoding="utf-8",
    )
    words = ["benchmark", "instances", TINY[0].name, TINY[1].name, "--register", "mine:Impatient", "--assignors", "impatient"]
    command = [sys.executable, "-m", "optassign.cli", *words, "--output", "scores.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "interrupted: 1 of 2 scores are there" in done.stderr
    assert [score["instance"] for score in json.loads((tmp_path / "scores.json").read_text())] == [TINY[0].name]


def test_an_assignor_that_fails_has_a_row() -> None:
    class Failing:
        name = "failing"

        def configure(self, configs: object) -> None: ...
        def assign(self, state: object) -> TaskAssignment:
            raise RuntimeError("broken")

        def on_assignment_computed(self, *given: object) -> None: ...

    instance = TINY[0]
    score = score_assignor(instance.make(), KNOWN[instance.name], Failing(), 10.0)
    assert score.gap is None
    assert score.refused.startswith("no answer: RuntimeError: broken")


def test_the_leaderboard_names_refused_answers() -> None:
    pinned = [each.name for each in list_instances() if each.variant == "pin" and each.tasks == 36]
    scores = [Score(pinned[0], "mine", 0.1, {}, None, "limit pin (number 1): found task 0_0 active on a; allowed: zone r1")]
    scores += [Score(pinned[1], "mine", 0.1, {}, None, "limit pin (number 1): found task 0_1 active on b; allowed: zone r1")]
    scores += [Score(TINY[0].name, "mine", 0.1, {}, None, "no answer: RuntimeError: too large")]
    assert list_refused(scores) == [
        ("mine", "small", "limits", 2, "limit pin"),
        ("mine", "tiny", "counts", 1, "no answer: RuntimeError: too large"),
    ]


def test_answers_of_any_program_are_scored(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chosen = ("--size", "tiny", "--family", "counts")
    code, _, err = run_here(capsys, "benchmark", "instances", *chosen, "--export", str(tmp_path / "snapshots"))
    assert code == 0
    exported = sorted((tmp_path / "snapshots").glob("*.json"))
    assert f"{len(exported)} snapshots in " in err
    (tmp_path / "answers").mkdir()
    for path in exported[1:]:
        run_here(capsys, "assign", str(path), "--json", "--output", str(tmp_path / "answers" / path.name))
    command = ("benchmark", "instances", *chosen, "--answers")
    code, out, err = run_here(capsys, *command, str(tmp_path / "answers"), "--json")
    scores = {score["instance"]: score for score in json.loads(out)}
    assert (code, err) == (0, "1 instances without an answer are left out\n")
    assert list(scores) == [instance.name for instance in TINY if instance.name in scores]
    assert len(scores) == len(exported) - 1
    assert run_here(capsys, *command, str(tmp_path))[0] == 2, "no answer at all"
    assert all(scores[path.stem]["gap"]["goal"] == "" for path in exported[1:])


def test_the_command_prints_gaps_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("benchmark", "instances", "--size", "tiny", "--family", "counts", "--assignors", "cp-sat,high-availability")
    code, out, err = run_here(capsys, *command)
    assert err == ""
    assert code in (0, 1), "1 where the baseline's target is refused"
    assert re.search("high-availability +restore_work", out), "no word is broken at 80 columns"


def test_an_imbalance_is_told_by_families_of_shares(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("benchmark", "instances", "counts-cold-12x3x1", "--assignors", "sticky", "--time-limit", "7")
    (score,) = json.loads(run_here(capsys, *command, "--json")[1])
    assert score["gap"]["goal"] == IMBALANCE
    assert sum(score["imbalance"].values()) == score["values"][IMBALANCE] > 0
    told = ", ".join(f"{family} {value}" for family, value in score["imbalance"].items() if value)
    shown = " ".join(run_here(capsys, *command)[1].split())
    assert f"Targets of sticky that differ: imbalance 1 ({told} in all)" in shown
    assert "s: median under a limit of 7 s" in shown


def test_the_list_names_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "benchmark", "instances", "--list", "--size", "tiny", "--family", "weights")
    assert code == 0
    assert "weighted_cost" in out
    code, _, err = run_here(capsys, "benchmark", "instances", "--list", "--size", "huge", "--family", "weights")
    assert code == 2
    assert "found no instance of this family; allowed: tiny, small, medium" in err


def test_the_table_is_packed() -> None:
    assert FILE.name == "best_known.json"
    packed = (Path(__file__).parents[2] / "benchmarks" / "pyproject.toml").read_text(encoding="utf-8")
    assert "instances/*.json" in packed
