"""The program that fills the table of best-known values: `python -m optassign_benchmarks.instances.best_known`.

A row has, for each goal in order, the best-known value, a proven bound, and whether HiGHS found the same optimum in the model
that `optassign model` writes. HiGHS runs in a process of its own and shares no code with the models.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from optassign.analysis.export import ExportError, export_model
from optassign.assignor import assign
from optassign.formats.assignment import GoalReport
from optassign.formats.json_input import read_assignment
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Value
from optassign.goals.order import WEIGHTED_COST, find_plan_goals
from optassign.measuring.facts import Facts
from optassign.measuring.load import balances_load
from optassign_benchmarks.instances.catalogue import FAMILIES, GENERATOR, SIZES, Instance, digest_snapshot, list_instances
from optassign_benchmarks.instances.scoring import IMBALANCE, extract_target, find_fault, measure_target
from optassign_benchmarks.instances.table import FILE, BestKnown, KnownValue, read_best_known

_HIGHS_SECONDS = 3.0
"""Time limit in seconds to export the model of one goal, and of HiGHS to solve it; slower goals stay unchecked."""
_MOST_PAIRS = 2_000
"""Greatest number of pairs of task and client for HiGHS; larger models take minutes."""
_READ_AND_SOLVE = """
import sys, highspy
folder, seconds, *goals = sys.argv[1:]
for goal in goals:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("time_limit", float(seconds))
    solver.readModel(f"{folder}/{goal}.mps")
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        print("found", goal, round(solver.getInfo().objective_function_value), flush=True)
"""


def _solve(instance: Instance, time_limit: float) -> BestKnown:
    """Return an instance's row: the target of cp-sat, with values checked on exported models."""
    state = instance.make()
    start = time.perf_counter()
    answer = assign(state, "cp-sat", time_limit)
    seconds = time.perf_counter() - start
    target = extract_target(answer)
    fault = find_fault(state, target)
    assert fault is None, f"{instance.name}: {fault}"
    measured = measure_target(Facts(state, target))
    reported = {goal.name: goal for goal in answer.report.goals if goal.stage == "plan"}
    if not reported:  # the answer is its own target
        reported = {goal.name: goal for goal in answer.report.goals if goal.stage == "now"}
    optima = _find_optima(state, (name for name in measured if name != IMBALANCE))
    values = [_describe(state, name, value, reported.get(name), optima.get(name)) for name, value in measured.items()]
    return BestKnown(
        instance=instance.name,
        generator=GENERATOR,
        digest=digest_snapshot(state),
        values=tuple(values),
        solver=f"{answer.report.found_by or 'none'}, {answer.report.proved_by or 'none'}",
        seconds=round(seconds, 3),
    )


def _describe(
    state: ApplicationState, name: str, value: Value, reported: GoalReport | None, exported: tuple[int, bool] | None
) -> KnownValue:
    if name == IMBALANCE:
        # The value is a sum of terms that are at least 0.
        return KnownValue(name=name, value=value, bound=0, proven=value == 0, checked=value == 0)
    is_same = reported is not None and abs(reported.value - value) <= 1e-6 * max(1.0, abs(value))
    bound = reported.bound if reported is not None and is_same else None
    proven = reported is not None and is_same and reported.proven
    optimum, is_found = exported or (None, False)
    if bound is None and optimum is not None and name in _OFFSETS_AND_COUNTS and not balances_load(state) and optimum <= value:
        bound, proven = optimum, optimum == value
    if value == 0 and name in _OFFSETS_AND_COUNTS:  # sums of terms that are at least 0
        bound, proven = 0, True
    return KnownValue(name=name, value=value, bound=bound, proven=proven, checked=proven and is_found)


_OFFSETS_AND_COUNTS = (
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "standby_migrations",
)
"""Goals that the exported model measures in the goal's own unit."""


def _find_optima(state: ApplicationState, goals: Iterable[str]) -> dict[str, tuple[int, bool]]:
    """Return goal → (exact optimum of its exported model, whether HiGHS confirms it); empty above `_MOST_PAIRS`."""
    optima: dict[str, int] = {}
    if len(state.tasks) * len(state.clients) > _MOST_PAIRS:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for goal in goals:
            path = Path(folder, f"{goal}.mps")
            try:
                written = export_model(state, path, None if goal == WEIGHTED_COST else goal, _HIGHS_SECONDS)
            except ExportError:
                continue
            if written.optimum is not None and written.is_exact:
                optima[goal] = written.optimum
        command = [sys.executable, "-c", _READ_AND_SOLVE, folder, str(_HIGHS_SECONDS), *optima]
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = {goal: int(value) for goal, value in re.findall(r"^found (\w+) (-?\d+)$", output, re.MULTILINE)}
    wrong = {goal: value for goal, value in found.items() if value != optima[goal]}
    if wrong:
        raise AssertionError(f"{state.application}: HiGHS found {wrong}, exported as {optima}")
    return {goal: (optimum, goal in found) for goal, optimum in optima.items()}


def write_best_known(rows: Mapping[str, BestKnown], file: Path = FILE) -> None:
    """Write the table, a line for each instance in the catalogue's order."""
    listed = [rows[instance.name] for instance in list_instances() if instance.name in rows]
    lines = ",\n".join(json.dumps(row.model_dump(), ensure_ascii=False) for row in listed)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main() -> int:
    """Fill the table: solve missing instances (all with --again) or read targets, and keep the better targets. Return 0."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.instances.best_known", description=__doc__)
    parser.add_argument("--size", choices=SIZES, help="instances of this size only")
    parser.add_argument("--family", choices=FAMILIES, help="instances of this family only")
    parser.add_argument("--table", type=Path, default=FILE, metavar="FILE", help="fill this file (default: the package's)")
    parser.add_argument("--answers", type=Path, metavar="FOLDER", help="keep the better assignments NAME.json in this folder")
    parser.add_argument("--again", action="store_true", help="solve known instances too, and keep the better target")
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="of solving (default: 60)")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="S", help="begin no further instance after this long")
    given = parser.parse_args()
    if given.answers is not None and not given.answers.is_dir():
        parser.error(f"--answers: found no folder {given.answers}; allowed: one with assignments NAME.json")
    begin = given.table if given.table.exists() or given.answers is None else FILE
    rows = read_best_known(begin) if begin.exists() else {}
    end = time.monotonic() + given.seconds
    for instance in list_instances():
        if given.size not in (None, instance.size) or given.family not in (None, instance.family):
            continue
        known = rows.get(instance.name)
        if given.answers is not None:
            path = given.answers / f"{instance.name}.json"
            if known is None or not path.exists():
                continue
            row = _read_row(instance, path, known)
        elif known is not None and not given.again:
            continue
        elif time.monotonic() > end:
            print("more instances are left", file=sys.stderr)
            return 0
        else:
            row = _solve(instance, given.time_limit)
        if known is None or known.generator != GENERATOR or _is_better(row, known):
            rows[instance.name] = row
        print(f"{instance.name}: {row.seconds:.1f} s, {[(v.name, v.value, v.proven, v.checked) for v in row.values]}")
        write_best_known(rows, given.table)
    return 0


def _read_row(instance: Instance, path: Path, known: BestKnown) -> BestKnown:
    """Return the row of an assignment in a file, with the bounds that still hold. ValueError if its target breaks a rule."""
    state, answer = instance.make(), read_assignment(path)
    target = extract_target(answer)
    fault = find_fault(state, target)
    if fault is not None:
        raise ValueError(f"{path}: found a target that breaks a rule or limit: {fault}")
    facts = Facts(state, target)
    measured = measure_target(facts)
    values: list[KnownValue] = []
    is_as_known = True  # a bound holds for targets that equal the known target in the goals before
    for before in known.values:
        value = measured[before.name]
        if is_as_known and (value == before.value or _is_within_tolerance(facts, before, value)):
            values.append(before.model_copy(update={"value": value}))
        else:
            values.append(KnownValue(name=before.name, value=value, bound=before.bound if is_as_known else None))
            is_as_known = False
    return known.model_copy(update={"values": tuple(values), "solver": f"{answer.assignor}, none", "seconds": 0.0})


def _is_within_tolerance(facts: Facts, known: KnownValue, value: Value) -> bool:
    """Return whether the value is a load within the tolerance of its bound, and the known load is proven."""
    if known.name != "load" or not known.proven or known.bound is None:
        return False
    return value <= find_plan_goals()[known.name].accepted(known.bound, facts)


def _is_better(row: BestKnown, known: BestKnown) -> bool:
    """Return whether a row has a better target than the known row, or an equal one with more proofs.

    A proven load is within the tolerance of its bound, and so counts as equal to another proven load.
    """
    goals = find_plan_goals()
    proven = {value.name for value in row.values if value.proven} & {value.name for value in known.values if value.proven}
    for name, value in row.best.items():
        if value != known.best[name] and not (name == "load" and name in proven):
            return (value > known.best[name]) == (name in goals and goals[name].more_is_better)
    return sum(v.proven + v.checked for v in row.values) > sum(v.proven + v.checked for v in known.values)


if __name__ == "__main__":
    sys.exit(main())
