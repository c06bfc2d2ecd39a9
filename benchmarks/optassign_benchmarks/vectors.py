"""Cases with their answers for the tests of both languages: `tests/vectors/`, a JSON file for each.

    python -m optassign_benchmarks.vectors                                # renew all; review the diff
    python -m optassign_benchmarks.vectors --add NAME SNAPSHOT "Shows."   # add a case with the snapshot of a file

A case is a snapshot of format 1 with its expected results: the shares of each client, the ranks of each task, the answer with
its whole report, and the numbers of tasks that a client would take over from another client. The target assignment is unique or
remembered, so that cp-sat and the planner in the JVM give the same answer. The planner's report has only some of the fields. A
case whose standbys may be on any client has no answer on file (`--any-client`). tests/solving/test_vectors.py checks the
service, and `VectorsTest` of java/server the planner.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from optassign.assignor import create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.translating.snapshot import read_situation
from optassign_models.shares import ShareBounds, compute_shares
from optassign_models.solving.situation import Situation

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "vectors"
_LONGEST = 128
"""Greatest number of characters of a list or object on one line, indent included."""


def make_vector(shows: str, state: ApplicationState, *, any_client: bool = False) -> dict[str, Any]:
    """Return the content of a case's file, without the answer if `any_client`."""
    situation = read_situation(state)
    answer = create("cp-sat").assign(state)
    vector = {
        "shows": shows,
        "snapshot": state.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
        "shares": _list_shares(situation),
        "ranks": _list_ranks(situation),
        "takeovers": _count_takeovers(answer),
    }
    return vector if any_client else vector | {"answer": pick_answer(answer)}


def pick_answer(answer: TaskAssignment) -> dict[str, Any]:
    """Return the content of an answer without its assignor and seconds, in the form of the file."""
    data = answer.without_times().model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return {"clients": data["clients"], "plan": data.get("plan", []), "report": data["report"]}


def format_vector(value: Any, indent: int = 0) -> str:
    """Return the value as JSON; each part that fits into a line takes one line, so that a diff shows rows."""
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + len(text) <= _LONGEST:
        return text
    named = isinstance(value, dict)
    keys = [f"{json.dumps(key)}: " for key in value] if named else [""] * len(value)
    values = value.values() if isinstance(value, dict) else value
    lines = [f"{' ' * indent} {key}{format_vector(each, indent + 1)}" for key, each in zip(keys, values, strict=True)]
    return "[{"[named] + "\n" + ",\n".join(lines) + f"\n{' ' * indent}" + "]}"[named]


def _list_shares(situation: Situation) -> dict[str, dict[str, list[int]]]:
    """Return `active` and `copies` → client → [least, greatest number] of its share."""
    shares = compute_shares(situation.problem)

    def write(share: ShareBounds) -> dict[str, list[int]]:
        return {name: [int(share.low[c]), int(share.high[c])] for c, name in enumerate(situation.inventory.clients)}

    return {"active": write(shares.active), "copies": write(shares.copies)}


def _list_ranks(situation: Situation) -> dict[str, dict[str, int]]:
    """Return logged task → client → rank."""
    problem, tasks, clients = situation.problem, situation.inventory.tasks, situation.inventory.clients
    keys = np.arange(problem.T * problem.C)
    ranks = problem.rank_of(keys).reshape(problem.T, problem.C).tolist()
    return {task: dict(zip(clients, ranks[t], strict=True)) for t, task in enumerate(tasks) if problem.logged[t]}


def _count_takeovers(answer: TaskAssignment) -> list[int]:
    """Return the sorted numbers of tasks that one client takes over if another dies, for each pair of clients with any."""
    holders = {task: client.process_id for client in answer.clients for task in client.active}
    pairs = Counter((holders[task], client.process_id) for client in answer.clients for task in client.standby)
    return sorted(pairs.values())


def main() -> int:
    """Write the files, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.vectors", description="Cases for both languages.")
    parser.add_argument("--add", nargs=3, metavar=("NAME", "SNAPSHOT", "SHOWS"), help="one more case, of a snapshot in a file")
    parser.add_argument("--any-client", action="store_true", help="with --add: without the answer")
    arguments = parser.parse_args()
    added = arguments.add
    FOLDER.mkdir(exist_ok=True)
    if added:
        name, snapshot, shows = added
        state = json.loads(Path(snapshot).read_text(encoding="utf-8"))
        cases = {FOLDER / f"{name}.json": (shows, state, arguments.any_client)}
    else:
        files = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
        cases = {path: (vector["shows"], vector["snapshot"], "answer" not in vector) for path, vector in files.items()}
    for path, (shows, state, any_client) in cases.items():
        vector = make_vector(shows, ApplicationState.model_validate(state), any_client=any_client)
        path.write_text(format_vector(vector) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
