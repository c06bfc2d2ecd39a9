"""Digests of answers: they show whether a change of the code changes an answer, byte for byte except times.

    python -m optassign_benchmarks.answers              # compare with the digests in optassign_benchmarks/answers.txt
    python -m optassign_benchmarks.answers --every 10   # the same for every tenth snapshot: half a minute at most
    python -m optassign_benchmarks.answers --write --because TEXT --touches load tags   # renew the file

With `--write`, `--because` states which answers change and why. `--touches` names the studies whose figures the change can
alter: `*` for all, no name for none. optassign_benchmarks/renewals.json keeps both, and the pages of these studies show them
until the studies run again.

Run it at the top of the repository. A line `differs: SNAPSHOT ASSIGNOR` names each answer that differs from the file. The last
line counts the equal answers. The exit code is 1 if an answer differs.

The snapshots are those of tests/data, the grid, generated snapshots of every shape, and small snapshots with unusual goals,
orders, presets and clients. cp-sat and greedy answer all of them, the baselines that need no JDK answer some. For tests/data
and every tenth generated snapshot, the digest covers all answers of a convergence.

A digest depends on the versions of OR-Tools and numpy in constraints.txt: renew the file after raising one of them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.json_input import read_state
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.generating.dealing import NotBalancedError
from optassign.goals.order import UNSERVED
from optassign.recordings.recording import read_recording
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import GRID, small_specs
from optassign_benchmarks.results import add_renewal

DIGESTS = Path(__file__).with_name("answers.txt")
"""A line for each answer (or convergence): snapshot, assignor and digest, separated by tabs."""
DATA = Path("tests/data")
_GENERATED_PER_SHAPE = 324
_WITH_GOALS = 56
_TIME_LIMIT = 600.0
"""Seconds. Deterministic limits end each search long before, so that no answer depends on the machine's speed."""
_MOST_FOLLOW_UPS = 40
_OURS = ("cp-sat", "greedy")
_BASELINES = ("consumer-sticky", "gap-sticky", "goal-chain", "high-availability", "sticky", "weighted-shards")


@dataclass(frozen=True)
class DigestCase:
    """A snapshot and the assignors that answer it."""

    name: str
    make: Callable[[], ApplicationState]
    """Reads or generates the snapshot, in the process that answers it. NotBalancedError if no such group exists."""
    assignors: tuple[str, ...] = _OURS
    converges: bool = False
    """Whether cp-sat and greedy answer all rebalances until the group is stable, rather than the first."""


def list_cases() -> Iterator[DigestCase]:
    """Yield all cases in the order of the file."""
    for path in sorted(path.relative_to(DATA) for path in DATA.rglob("*.json*")):
        yield DigestCase(f"data {path}", partial(_read_snapshot, DATA / path), (*_OURS, *_BASELINES), converges=True)
    for number, (name, spec) in enumerate(GRID):
        baselines = _BASELINES if number % 4 == 0 and spec.tasks <= 100 else ()
        yield DigestCase(f"grid {name}", spec.generate, (*_OURS, *baselines))
    for shape in SHAPES:
        for number, spec in enumerate(small_specs(shape, _GENERATED_PER_SHAPE)):
            yield DigestCase(f"generated {shape} {number}", spec.generate, converges=number % 10 == 0)
    for number in range(_WITH_GOALS):
        yield DigestCase(f"goals {number}", partial(_generate_with_goals, number), (*_OURS, *_BASELINES))


def _read_snapshot(path: Path) -> ApplicationState:
    return read_recording(path).snapshot if path.suffix == ".gz" else read_state(path)


def _generate_with_goals(number: int) -> ApplicationState:
    """Return a small snapshot with racks, tags, load or another order of goals, preset `weighted`, draining clients, or
    capacities."""
    rng = random.Random(f"goals {number}")
    capacities: tuple[float | tuple[float, float], ...] = (1.0, (0.5, 2.0))
    threads: tuple[int | tuple[int, int], ...] = (1, 2, (1, 3))
    shape = SHAPES[number % len(SHAPES)]
    state = generate(
        shape,
        rng.choice([8, 12, 24, 40]),
        rng.choice([3, 4, 6]),
        rng.choice([0, 1, 1, 2]),
        seed=number,
        weights=rng.choice([0.0, 0.5, 1.0]),
        racks=rng.choice([0, 2, 3]),
        capacity=rng.choice(capacities),
        threads=rng.choice(threads),
        memory=rng.random() < 0.5,
    )
    configs: dict[str, object] = {}
    if rng.random() < 0.5:
        configs["rack_aware_assignment_strategy"] = "min_traffic"
    if rng.random() < 0.5:
        configs["rack_aware_assignment_tags"] = ("zone",)
    options: dict[str, object] = {"balance_factor": rng.choice([1, 1, 1, 2, 3])}
    kind = rng.randrange(5)
    if kind == 0:
        options["preset"] = "weighted"
    elif kind == 1:
        options["goals"] = ("active_moves", "restore_work", "copies_not_caught_up")
    elif kind == 2:
        options["goals"] = ("restore_work", "load", "active_moves")
    clients = list(state.clients)
    if rng.random() < 0.3:
        clients[0] = clients[0].model_copy(update={"draining": True})
    return state.model_copy(
        update={
            "clients": tuple(clients),
            "configs": state.configs.model_copy(update=configs),
            "options": state.options.model_copy(update=options),
        }
    )


def answer_case(case: DigestCase) -> list[str]:
    """Return the lines of the file for a case, one for each assignor."""
    try:
        state = case.make()
    except NotBalancedError:
        return [f"{case.name}\tno such group"]
    return [
        f"{case.name}\t{assignor}\t{_digest(state, assignor, case.converges and assignor in _OURS)}"
        for assignor in case.assignors
    ]


def _digest(state: ApplicationState, assignor: str, converges: bool) -> str:
    answers = [assign(state, assignor, _TIME_LIMIT)]
    for _ in range(_MOST_FOLLOW_UPS if converges else 0):
        if all(client.followup_rebalance_ms is None for client in answers[-1].clients):
            break
        state = make_restored_snapshot(state, answers[-1])
        answers.append(assign(state, assignor, _TIME_LIMIT))
    return sha256("\n".join(map(_to_text, answers)).encode()).hexdigest()[:12]


def _to_text(answer: TaskAssignment) -> str:
    data = answer.without_times().model_dump(mode="json")
    # The digests are older than the notes about goals that an assignor does not serve, so they exclude these notes.
    data["report"]["notes"] = [note for note in data["report"]["notes"] if not note.startswith(UNSERVED)]
    return json.dumps(data, sort_keys=True)


def main() -> int:
    """Answer the cases, and compare the digests or write them. Return 1 if an answer differs from the file, otherwise 0."""
    parser = argparse.ArgumentParser(
        prog="python -m optassign_benchmarks.answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="renew the digests, all of them")
    parser.add_argument("--because", metavar="TEXT", help="with --write: which answers change, and why")
    parser.add_argument("--touches", nargs="*", metavar="STUDY", help="with --write: studies whose figures this can alter")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th snapshot")
    arguments = parser.parse_args()
    if arguments.write and arguments.every != 1:
        parser.error("found --write with --every; allowed: --write without it, since it replaces the whole file")
    if arguments.write and (not arguments.because or arguments.touches is None):
        parser.error("found --write alone; allowed: --write --because TEXT --touches [STUDY …]")
    chosen = list(islice(list_cases(), 0, None, arguments.every))
    with ProcessPoolExecutor() as pool:
        lines = [line for answered in pool.map(answer_case, chosen, chunksize=8) for line in answered]
    if arguments.write:
        DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        add_renewal(arguments.because, arguments.touches)
        return 0
    on_file = set(DIGESTS.read_text(encoding="utf-8").splitlines())
    different = [line for line in lines if line not in on_file]
    for line in different:
        print(f"differs: {line.rpartition(chr(9))[0]}")
    print(f"{len(lines) - len(different)} of {len(lines)} as before ({len(chosen)} snapshots)")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
