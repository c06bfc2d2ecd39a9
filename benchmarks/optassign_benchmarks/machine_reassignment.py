"""`python -m optassign_benchmarks.machine_reassignment MODEL ASSIGNMENT`: an instance of ROADEF/EURO 2012 as a snapshot.

The challenge reassigns processes to machines. Its instances are files that you download; this repository has none of them. One
resource is the weight of a task, and a machine's safety capacity of this resource is the capacity of a client. The initial
assignment gives the owners, and the cost of moving a process is its state. A machine without safety capacity drains. So the
measures are load and stickiness. All other constraints and costs of the challenge are left out, and its own objective is not
computed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optassign.assignor import create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs, Options
from optassign.formats.input_errors import InputError, shorten
from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState, TaskInfo
from optassign.measuring.load import Loads
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign_benchmarks.results import describe_machine, to_markdown

TOLERANCE = 0.05
LEAST_WEIGHT = 1e-6
"""The weight of a process that does not use the resource, in parts of the mean, since no weight may be 0."""
_MODEL = "a model file of ROADEF/EURO 2012, which you download (model_a1_1.txt)"
_ASSIGNMENT = "its initial assignment, which you download (assignment_a1_1.txt)"
_HEAD = ("assignor", "greatest load", "its bound", "state to move", "its bound", "tasks moved", "s")


@dataclass(frozen=True)
class ReassignmentInstance:
    """The used part of an instance, in units of its files: each machine's capacity; each process's need, move cost and
    machine."""

    capacity: tuple[int, ...]
    """Safety capacity of the chosen resource."""
    need: tuple[int, ...]
    move_cost: tuple[int, ...]
    machine: tuple[int, ...]
    """The index of the process's initial machine."""


class _Numbers:
    """The integers of a file, in order. InputError names the line, the word found and the allowed values."""

    def __init__(self, path: Path, allowed: str) -> None:
        self.path, self.allowed = path, allowed
        try:
            text = path.read_text(encoding="ascii")
        except FileNotFoundError:
            raise InputError(str(path), "", "no such file", allowed) from None
        except IsADirectoryError:
            raise InputError(str(path), "", "a folder", allowed) from None
        except UnicodeDecodeError:
            raise InputError(str(path), "", "a file that is no text of numbers", allowed) from None
        except OSError as error:
            raise InputError(str(path), "", f"that it cannot be read ({error.strerror or error})", allowed) from None
        self._words = [(line, word) for line, text in enumerate(text.splitlines(), start=1) for word in text.split()]
        self._next = 0

    def take(self, what: str, least: int = 0, most: int | None = None) -> int:
        """Return the next integer; InputError unless it is from `least` to `most`. `what` names the integer in the error."""
        allowed = f"{what}, an integer of {least} or more" if most is None else f"{what}, an integer from {least} to {most}"
        if self._next == len(self._words):
            raise InputError(str(self.path), "the end", "no more numbers", allowed)
        line, word = self._words[self._next]
        if not word.isdecimal() or int(word) < least or (most is not None and int(word) > most):
            raise InputError(str(self.path), f"line {line}", shorten(word), allowed)
        self._next += 1
        return int(word)

    def skip(self, number: int, what: str) -> None:
        """Skip `number` integers."""
        for _ in range(number):
            self.take(what)

    def end(self, what: str) -> None:
        """Raise InputError unless the file ends."""
        if self._next < len(self._words):
            line, word = self._words[self._next]
            raise InputError(str(self.path), f"line {line}", shorten(word), f"the end of the file, after {what}")


def read_instance(model: Path, assignment: Path, resource: int = 0) -> ReassignmentInstance:
    """Return the used part of an instance, for the resource of that index. InputError for invalid files."""
    numbers = _Numbers(model, _MODEL)
    resources = numbers.take("the number of resources", 1)
    if resource >= resources:
        raise InputError(
            str(model), "--resource", str(resource), f"0 to {resources - 1}, as the model has {resources} resources"
        )
    numbers.skip(2 * resources, "transience and weight of a resource")
    machines, capacity = numbers.take("the number of machines", 1), []
    for _ in range(machines):
        numbers.skip(2 + resources, "neighbourhood, location and capacities of a machine")
        safe = [numbers.take("a safety capacity") for _ in range(resources)]
        numbers.skip(machines, "the cost of moving from a machine")
        capacity.append(safe[resource])
    for _ in range(numbers.take("the number of services")):
        numbers.skip(1, "the spread of a service")
        numbers.skip(numbers.take("the number of dependencies of a service"), "a dependency")
    need, move_cost = [], []
    processes = numbers.take("the number of processes", 1)
    for _ in range(processes):
        numbers.skip(1, "the service of a process")
        need.append([numbers.take("a need of a process") for _ in range(resources)][resource])
        move_cost.append(numbers.take("the cost of moving a process"))
    owners = _Numbers(assignment, _ASSIGNMENT)
    machine = tuple(owners.take(f"the machine of process {p}", 0, machines - 1) for p in range(processes))
    owners.end(f"the machines of {processes} processes")
    return ReassignmentInstance(tuple(capacity), tuple(need), tuple(move_cost), machine)


def make_snapshot(instance: ReassignmentInstance) -> ApplicationState:
    """Return the instance as a snapshot: weights and capacities as multiples of their means, move costs as offsets."""
    mean_need = sum(instance.need) / len(instance.need) or 1.0
    mean_capacity = sum(instance.capacity) / len(instance.capacity) or 1.0
    owned: list[list[str]] = [[] for _ in instance.capacity]
    for process, machine in enumerate(instance.machine):
        owned[machine].append(f"0_{process}")
    return ApplicationState(
        format=1,
        configs=AssignmentConfigs(acceptable_recovery_lag=0),  # each move counts, even with little state
        options=Options(load_tolerance=TOLERANCE, min_gain=0.0),
        tasks=tuple(
            TaskInfo(
                id=f"0_{process}",
                stateful=True,
                changelog_end_offset=cost,
                weight=max(LEAST_WEIGHT, round(need / mean_need, 6)),
            )
            for process, (need, cost) in enumerate(zip(instance.need, instance.move_cost, strict=True))
        ),
        clients=tuple(
            KafkaStreamsState(
                process_id=f"m{number:04}",
                threads=1,
                capacity=min(1e6, max(1e-6, capacity / mean_capacity)) if capacity else 1.0,
                draining=not capacity,
                previous_active=tuple(mine),
                lags=dict.fromkeys(mine, RUNNING),
            )
            for number, (capacity, mine) in enumerate(zip(instance.capacity, owned, strict=True))
        ),
    )


def list_rows(state: ApplicationState, assignors: tuple[str, ...], time_limit: float) -> Iterator[tuple[object, ...]]:
    """Yield the cells of `_HEAD` for the initial assignment and for each assignor; loads are multiples of an even spread, state
    is in offsets."""
    loads, none = Loads(state), {task.id: () for task in state.tasks}
    owner = {task: (client.process_id,) for client in state.clients for task in client.previous_active}
    yield "initial", f"{loads.find_greatest(TaskPlacement(owner, none, none)):.4f}", "–", 0, "–", 0, "–"
    for name in assignors:
        assignor = create(name, time_limit=time_limit)
        start = time.perf_counter()
        answer = assignor.assign(state)
        seconds = time.perf_counter() - start
        yield name, *_describe(state, loads, answer), f"{seconds:.2f}"


def _describe(state: ApplicationState, loads: Loads, answer: TaskAssignment) -> tuple[object, ...]:
    plan = planned_placement(state, answer)
    bounds = {goal.name: goal.bound for goal in answer.report.goals if goal.stage in ("now", "plan")}
    moved, size = find_moved_actives(state, plan), state.full_lags
    load, work = bounds.get("load"), bounds.get("restore_work")
    return (
        f"{loads.find_greatest(plan):.4f}",
        "–" if load is None else f"{load:.4f}",
        sum(size[task] for task in moved),
        "–" if work is None else f"{work:,.0f}",
        len(moved),
    )


def _write(state: ApplicationState, path: Path) -> None:
    try:
        path.write_text(state.model_dump_json(), encoding="utf-8")
    except OSError as error:
        found = f"that it cannot be written ({error.strerror or error})"
        raise InputError(str(path), "--snapshot", found, "a file to write") from None


def main() -> int:
    """Read the files, ask the assignors and print the table. Return 2 for unusable files, otherwise 0."""
    parser = argparse.ArgumentParser(
        prog="python -m optassign_benchmarks.machine_reassignment",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="the model file of an instance, as downloaded")
    parser.add_argument("assignment", metavar="ASSIGNMENT", type=Path, help="the file with its initial assignment")
    parser.add_argument(
        "--resource", type=int, default=0, metavar="N", help="which resource is the weight, from 0 (default: 0)"
    )
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="SECONDS", help="of solving (default: 10)")
    parser.add_argument("--snapshot", type=Path, metavar="FILE", help="write the snapshot there, for the other commands")
    arguments = parser.parse_args()
    if arguments.resource < 0:
        parser.error(f"--resource: found {arguments.resource}; allowed: 0 or more")
    if not 0 <= arguments.time_limit < float("inf"):
        parser.error(f"--time-limit: found {arguments.time_limit}; allowed: seconds, 0 or more")
    try:
        state = make_snapshot(read_instance(arguments.model, arguments.assignment, arguments.resource))
        if arguments.snapshot is not None:
            _write(state, arguments.snapshot)
    except InputError as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 2
    size = f"{len(state.tasks):,} processes on {len(state.clients):,} machines, resource {arguments.resource}"
    print(f"{arguments.model.name}: {size}; {describe_machine()}\n", flush=True)
    print(to_markdown(_HEAD, list_rows(state, ("cp-sat", "greedy"), arguments.time_limit)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
