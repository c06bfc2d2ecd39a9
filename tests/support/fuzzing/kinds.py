"""Kinds of cases that need only this process: readers, commands, assignors with the validator, and groups."""

import contextlib
import gzip
import io
import json
import sys
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from case import Case, Kind
from enumerated import Enumerated
from groups import Changes, Rest
from spoiling import KNOWN, dump_known_answer, dump_known_state, make_known_state, make_state, spoil, spoil_bytes

from optassign import assign
from optassign.cli import main as run_command
from optassign.formats.assignment import TaskAssignment
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.recordings.recording import RecordingHead, encode_recording, read_recording, summarise
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot

_LONGEST_ERROR = 2_000
_COMMANDS = ("assign", "assign", "assign", "explain", "compare", "converge", "validate", "anonymise")
_OPTIONS = (
    *("--assignor", "greedy", "--format", "json", "--time-limit", "0.2", "--task", "0_0", "--client", "a", "--no-such", "-"),
    *("table", "\u2028", ""),
)
_OURS = ("greedy", "greedy", "greedy", "cp-sat")
_BASELINES = ("consumer-sticky", "gap-sticky", "goal-chain", "high-availability", "sticky", "weighted-shards")


def describe_error(error: InputError) -> str | None:
    """Return the fault of an error message, or None if it is one printable line of limited length."""
    line = str(error)
    return None if line.isprintable() and len(line) <= _LONGEST_ERROR else f"an error that is no line: {line[:200]!a}"


class Snapshots:
    """Spoiled snapshots for the reader: accepted ones survive writing and reading, and refused ones get a one-line error."""

    def make(self, random: Random) -> Case:
        return Case(spoil(random, dump_known_state(random.randrange(KNOWN))))

    def check(self, case: Case) -> str | None:
        try:
            value = read_value(case.content, "fuzz")
        except InputError as error:
            return describe_error(error)
        for unknown in ("refuse", "ignore"):
            try:
                state, _ = to_model(value, ApplicationState, "fuzz", unknown=unknown)
            except InputError as error:
                if why := describe_error(error):
                    return why
                continue
            if ApplicationState.model_validate_json(state.model_dump_json()) != state:
                return "what is written is not what was read"
        return None


class Answers:
    """Spoiled answers for the reader, the validator and the measures; the validator's messages are printable."""

    def make(self, random: Random) -> Case:
        number = random.randrange(KNOWN)
        return Case(spoil(random, dump_known_answer(number)), (str(number),))

    def check(self, case: Case) -> str | None:
        state = make_known_state(int(case.arguments[0]))
        try:
            answer, _ = to_model(read_value(case.content, "fuzz"), TaskAssignment, "fuzz", unknown="ignore")
        except InputError as error:
            return describe_error(error)
        if TaskAssignment.model_validate_json(answer.model_dump_json()) != answer:
            return "what is written is not what was read"
        broken = [str(violation) for violation in validate(state, answer)]
        if not all(line.isprintable() for line in broken):
            return f"a violation that is no line: {broken!a}"
        if not broken:
            measure(state, answer)
        return None


@cache
def pack_known_recording(number: int) -> tuple[bytes, str]:
    """Return a recording of a known group, packed and unpacked."""
    state = make_known_state(number)
    answer = TaskAssignment.model_validate_json(dump_known_answer(number))
    head = RecordingHead(
        format=1, application="fuzz", recorded_at="2026-01-01T00:00:00.000Z", answered_at=1, assignor="greedy",
        time_limit=1.0, summary=summarise(state, answer),
    )  # fmt: skip
    packed = encode_recording(head, dump_known_answer(number).encode(), dump_known_state(number).encode())
    return packed, gzip.decompress(packed).decode()


class Recordings:
    """Recordings, spoiled before or after packing."""

    def make(self, random: Random) -> Case:
        packed, text = pack_known_recording(random.randrange(KNOWN))
        if random.random() < 0.3:
            return Case(spoil_bytes(random, packed, random.randint(1, 3)))
        return Case(spoil(random, text))

    def check(self, case: Case) -> str | None:
        try:
            read_recording(case.content)
        except InputError as error:
            return describe_error(error)
        return None


class Commands:
    """Spoiled snapshots on standard input of commands, with valid or invalid options."""

    def make(self, random: Random) -> Case:
        command = random.choice(_COMMANDS)
        extra = ["--assignors", "greedy,sticky"] if command == "compare" else []
        extra += ["--assignor", "greedy"] * (command in ("assign", "converge"))
        extra += random.choices(_OPTIONS, k=random.choice((0, 0, 1, 2)))
        return Case(spoil(random, dump_known_state(random.randrange(KNOWN))), (command, "-", *extra))

    def check(self, case: Case) -> str | None:
        out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(case.content))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code: Any = run_command(list(case.arguments))
                except SystemExit as leaving:
                    code = leaving.code
        finally:
            sys.stdin = before
        out.seek(0)
        output, shown = err.getvalue(), out.read()
        if code not in (0, 1, 2):
            return f"exit {code}"
        if "Traceback" in output:
            return "a traceback"
        if code == 2 and not (output.strip() and all(line.isprintable() for line in output.rstrip("\n").split("\n"))):
            return f"exit 2 with {output!a}"
        if "table" in case.arguments and not all(line.isprintable() for line in shown.split("\n")):
            return f"a table with {shown!a}"
        return None


class Assignors:
    """An assignor of optassign, called for several consecutive rebalances of a group: every answer keeps all rules.

    Some cases use a baseline instead, for which only Kafka's own conditions are checked, by `assign`.
    """

    def make(self, random: Random) -> Case:
        state = make_state(random, random.choice((4, 8, 8, 12, 40)))
        names = random.choices(_OURS if random.random() < 0.9 else _BASELINES, k=random.randint(1, 4))
        steps = random.choices(("restored", "kept", "second pass", "again"), k=len(names))
        return Case(state.model_dump_json().encode(), tuple(f"{name} {step}" for name, step in zip(names, steps, strict=True)))

    def check(self, case: Case) -> str | None:
        state = ApplicationState.model_validate_json(case.content)
        for argument in case.arguments:
            name, _, step = argument.partition(" ")
            answer = assign(state, name, 0.5)
            broken = validate(state, answer)
            if broken and name in _OURS:
                return f"{name}: {broken[0]}"
            state = _FOLLOWING[step](state, answer)
        return None


_FOLLOWING: dict[str, Callable[[ApplicationState, TaskAssignment], ApplicationState]] = {
    "restored": make_restored_snapshot,
    "kept": lambda state, answer: make_restored_snapshot(state, answer, keep_state=True),
    "second pass": make_second_pass_snapshot,
    "again": lambda state, answer: state.model_copy(update={"remembered": answer}),
}
KINDS: dict[str, Kind] = {
    "snapshots": Snapshots(),
    "answers": Answers(),
    "recordings": Recordings(),
    "commands": Commands(),
    "assignors": Assignors(),
    "enumerated": Enumerated(),
    "rest": Rest(),
    "changes": Changes(),
}


def can_shrink(kind: str, case: Case) -> bool:
    """Return whether `shrink` can search a shorter input: the kind needs only this process, and the case has content."""
    return kind in KINDS and bool(case.content)


def dump_case(case: Case) -> str:
    """Return a case as JSON for a file."""
    return json.dumps({"arguments": case.arguments, "content": case.content.decode("latin-1")}, indent=1) + "\n"
