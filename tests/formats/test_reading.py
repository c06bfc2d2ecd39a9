"""Tests of reading: an error is one line with the place in the input, the value found, and the allowed values."""

import copy
import gc
import gzip
import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_assignment, read_state

RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "kafka-4.3.1").glob("*.json"))
GOOD: dict[str, Any] = {
    "format": 1,
    "configs": {},
    "tasks": [
        {"id": "0_7", "stateful": True, "partitions": [{"topic": "in", "partition": 7}]},
        {"id": "1_0", "stateful": False},
    ],
    "clients": [
        {"process_id": "a", "threads": 1, "previous_active": ["0_7"], "lags": {"0_7": -2}},
        {"process_id": "b", "threads": 2, "consumers": {"c.1": ["1_0"]}, "tags": {"zone": "z"}},
    ],
}
ANSWER: dict[str, Any] = {
    "format": 1,
    "assignor": "x",
    "clients": [{"process_id": "a", "active": ["0_7"]}, {"process_id": "b", "active": ["1_0"]}],
}
NOTHING = object()
IDS = "<subtopology>_<partition> or <name>__<subtopology>_<partition>"
INT64 = "9223372036854775807"
HUGE = 10**30


class Row(NamedTuple):
    """A bad value for a field of GOOD or ANSWER, and expected parts of the message; `place` if it differs from the path."""

    path: tuple[str | int, ...]
    value: Any
    found: str
    allowed: str
    place: str | None = None


STATE = [
    Row(("format",), NOTHING, "nothing", "1,"),
    Row(("format",), 2, "2", "1,"),
    Row(("format",), "1", '"1"', "1,"),
    Row(("format",), True, "true", "1,"),
    Row(("format",), 1.0, "1.0", "1,"),
    Row(("configs",), NOTHING, "nothing", "an object with the fields acceptable_recovery_lag"),
    Row(("configs",), None, "null", "an object"),
    Row(("configs", "max_warmup_replicas"), 0, "0", "an integer from 1 to 2147483647"),
    Row(("configs", "max_warmup_replicas"), 2**31, "2147483648", "an integer from 1 to 2147483647"),
    Row(("configs", "num_standby_replicas"), -1, "-1", "an integer from 0 to 2147483647"),
    Row(("configs", "num_standby_replicas"), 1.0, "1.0", "an integer"),
    Row(("configs", "acceptable_recovery_lag"), HUGE, "1" + "0" * 30, f"an integer from 0 to {INT64}"),
    Row(("configs", "probing_rebalance_interval_ms"), 59_999, "59999", "an integer from 60000 to"),
    Row(("configs", "rack_aware_assignment_strategy"), "max", '"max"', '"none", "min_traffic", "balance_subtopology"'),
    Row(("configs", "rack_aware_assignment_tags"), ["z", "z"], '"z" a second time', "each name once",
        "configs.rack_aware_assignment_tags[1]"),
    Row(("configs", "rack_aware_traffic_cost"), "10", '"10"', "an integer from 0 to 2147483647"),
    Row(("configs", "num_standby_replica"), 1, "an unknown field (did you mean num_standby_replicas?)", "with x_"),
    Row(("configs", "zzz"), 1, "an unknown field", "acceptable_recovery_lag, max_warmup_replicas"),
    Row(("options",), {"balance_factor": 0}, "0", "an integer from 1", "options.balance_factor"),
    Row(("options",), {"goals": ["load", "speed"]}, '"speed"', '"active_moves", "actives_not_caught_up", ', "options.goals[1]"),
    Row(("options",), {"goals": ["load", "load"]}, '"load" a second time', "each name once", "options.goals[1]"),
    Row(("options",), {"weights": {"instance": -1}}, "-1", "a number of at least 0", "options.weights.instance"),
    Row(("taken_at",), "yesterday", '"yesterday"', "2026-11-20T15:20:01.123Z"),
    Row(("tasks",), NOTHING, "nothing", "a list"),
    Row(("tasks",), {}, "an object of 0 fields", "a list"),
    Row(("tasks", 0), "0_7", '"0_7"', "an object with the fields id, stateful", "tasks[0]"),
    Row(("tasks", 0, "id"), "0_07", '"0_07"', IDS),
    Row(("tasks", 0, "id"), "2147483648_0", '"2147483648_0"', IDS),
    Row(("tasks", 0, "id"), 7, "7", IDS),
    Row(("tasks", 1, "id"), "0_7", "task 0_7 a second time", "each task id once"),
    Row(("tasks", 1, "id"), "0_8", "stateless task 0_8 and logged task 0_7 in one subtopology", "one kind", "tasks[1]"),
    Row(("tasks", 1), {"id": "0_8", "stateful": True, "logged": False},
        "unlogged task 0_8 and logged task 0_7 in one subtopology", "one kind", "tasks[1]"),
    Row(("tasks", 0), {"id": "1_1", "stateful": True, "logged": False},
        "stateless task 1_0 and unlogged task 1_1 in one subtopology", "one kind", "tasks[1]"),
    Row(("tasks", 0, "stateful"), "yes", '"yes"', "true or false"),
    Row(("tasks", 0, "stateful"), NOTHING, "nothing", "true or false"),
    Row(("tasks", 1, "logged"), True, "true, and task 1_0 is not stateful", "false"),
    Row(("tasks", 0, "weight"), 0, "0", "a number above 0, at most 1000000000"),
    Row(("tasks", 0, "weight"), float("inf"), "Infinity", "a number above 0, at most 1000000000"),
    Row(("tasks", 0, "changelog_end_offset"), -1, "-1", f"an integer from 0 to {INT64}"),
    Row(("tasks", 0, "partitions", 0, "partition"), -1, "-1", "an integer from 0 to 2147483647"),
    Row(("tasks", 0, "partitions", 0, "racks"), "r1", '"r1"', "a list, each a string"),
    Row(("clients",), [], "an empty list", "a list of at least 1"),
    Row(("clients", 0, "process_id"), "", '""', "a string that is not empty"),
    Row(("clients", 1, "process_id"), "a", '"a" a second time', "each process id once"),
    Row(("clients", 0, "threads"), 0, "0", "an integer from 1 to 2147483647"),
    Row(("clients", 0, "threads"), True, "true", "an integer from 1 to 2147483647"),
    Row(("clients", 0, "threads"), NOTHING, "nothing", "an integer from 1 to 2147483647"),
    Row(("clients", 0, "thread"), 1, "an unknown field (did you mean threads?)", "process_id, threads, consumers"),
    Row(("clients", 0, "capacity"), float("nan"), "NaN", "a number from 0.000001 to 1000000"),
    Row(("clients", 0, "draining"), 1, "1", "true or false"),
    Row(("clients", 0, "lags"), {"0_7": -1}, "-1", f"-2 (running here), -3 (not known) or an integer from 0 to {INT64}",
        'clients[0].lags["0_7"]'),
    Row(("clients", 0, "lags"), {"0_7": 2**63}, "9223372036854775808", "-2 (running here)", 'clients[0].lags["0_7"]'),
    Row(("clients", 0, "lags"), {"0_7": "many"}, '"many"', "-2 (running here)", 'clients[0].lags["0_7"]'),
    Row(("clients", 0, "lags"), {"0-7": 1}, '"0-7"', IDS, 'clients[0].lags["0-7"]'),
    Row(("clients", 0, "lags"), [1], "a list of 1", "an object, each value -2"),
    Row(("clients", 0, "previous_active"), ["0_7", "0_7"], "task 0_7 a second time", "each task once",
        "clients[0].previous_active[1]"),
    Row(("clients", 0, "previous_standby"), ["0_7"], "task 0_7, which is in previous_active too",
        "one of the two lists", "clients[0].previous_standby[0]"),
    Row(("clients", 0, "previous_standby"), ["9_0", "?"], '"?"', IDS, "clients[0].previous_standby[1]"),
    Row(("clients", 1, "consumers"), {"c.1": ["1_0", "1_0"]}, "task 1_0 a second time", "each task once",
        'clients[1].consumers["c.1"][1]'),
    Row(("clients", 1, "consumers"), {"c.1": ["1_0", "x"]}, '"x"', IDS, 'clients[1].consumers["c.1"][1]'),
    Row(("clients", 1, "tags"), {"zone": 1}, "1", "a string", 'clients[1].tags["zone"]'),
    Row(("x_note",), [float("nan")], "NaN", "without NaN", "x_note[0]"),
    Row(("remembered",), {**ANSWER, "format": 3}, "3", "1", "remembered.format"),
    Row(("remembered",), {**ANSWER, "clients": [{"process_id": "a", "active": ["0"]}]}, '"0"', IDS,
        "remembered.clients[0].active[0]"),
    Row(("application",), ["x"], "a list of 1", "a string"),
    Row(("clients", 0, "rack"), {"name": "r1"}, "an object of 1 field", "a string"),
    Row(("clients", 0, "a\nb \u001b[31m"), 1, "an unknown field", "process_id", r"clients[0].a\nb \x1b[31m"),
    Row(("tasks", 0, "id"), "long" * 1000, '"' + "long" * 10, IDS),
]  # fmt: skip
ASSIGNMENT = [
    Row(("format",), NOTHING, "nothing", "1,"),
    Row(("assignor",), NOTHING, "nothing", "a string that is not empty"),
    Row(("clients",), None, "null", "a list, each an object with the fields process_id, active"),
    Row(("clients", 1, "process_id"), "a", '"a" a second time', "each process id once"),
    Row(("clients", 0, "active"), ["0_7", "1_"], '"1_"', IDS, "clients[0].active[1]"),
    Row(("clients", 0, "followup_rebalance_ms"), -1, "-1", f"an integer from 0 to {INT64}"),
    Row(("clients", 0, "warmups"), [], "an unknown field (did you mean warmup?)", "standby, warmup"),
    Row(("plan",), [{"process_id": "a", "warmup": []}], "an unknown field", "active, standby", "plan[0].warmup"),
    Row(("report",), {"goals": [{"stage": "soon", "name": "x", "value": 1}]}, '"soon"', '"now", "plan"',
        "report.goals[0].stage"),
    Row(("report",), {"goals": [{"stage": "now", "name": "x", "value": "1"}]}, '"1"', "an integer or a number",
        "report.goals[0].value"),
    Row(("report",), {"seconds": {"plan": -0.5}}, "-0.5", "a number of at least 0", 'report.seconds["plan"]'),
]  # fmt: skip
SYNTAX: list[tuple[bytes, str, str, str]] = [
    (b"", "", "an empty text", "JSON"),
    (b" \n\t ", "", "an empty text", "JSON"),
    (b'{"format": 1,\n "configs": {}, ', "line 2", "the end of a truncated text", "JSON"),
    (b'{"format": 1, "appli', "line 1, column 15", "an unterminated string", "JSON"),
    (b"{\n'format': 1}", "line 2, column 1", "\"'format': 1}", "double quotes"),
    (b'{"format": 1, // no comments\n}', "line 1, column 15", '"// no comments', "double quotes"),
    (b'{"format": 1} {}', "line 1, column 15", '"{}"', "nothing after it"),
    (b"format: 1", "line 1, column 1", '"format: 1"', "JSON"),
    (b"\x1f\x8b\x08\x00\x00", "", "truncated or damaged gzip", "JSON in UTF-8"),
    (gzip.compress(b"[1, 2]", mtime=0), "the top level", "a list of 2", "an object with the fields format"),
    ('{"format": 1}'.encode("utf-16"), "byte 0", "byte 0xff, which is not UTF-8", "UTF-8"),
    (b'{"format": 1, "application": "\\ud800"}', "application", "half of a surrogate pair", "whole characters"),
    (b'{"format": 1, "application": "a\nb"}', "line 1, column 32", r'"\nb', "no invalid control character"),
    (b'{"format": 1, "format": 1}', "the top level", 'field "format" twice', "each name once"),
    (b'{"format": 1, "tasks": [{"id": "0_1"}, {"id": "0", "id": "1"}]}', "tasks[1]", 'field "id" twice', "each name"),
    (b'{"format": 1, "clients": [{"lags": {"0": 1, "0": 2}}]}', "clients[0].lags", 'field "0" twice', "each name"),
    (b'{"format": 1,\n "x_n": ' + b"9" * 10_000 + b"}", "line 2", "an integer of thousands of digits", "64 bits"),
    (b'{"format": ' + b"9" * 4000 + b"}", "format", "99999", "1,"),
    (b'{"format": 1, "x_n": ' + b"[" * 200_000, "", "lists or objects nested too deeply", "JSON"),
    (b"[1, 2]", "the top level", "a list of 2", "an object with the fields format"),
    (b"3", "the top level", "3", "an object with the fields format"),
    (b"null", "the top level", "null", "an object with the fields format"),
]


def spoiled(good: dict[str, Any], row: Row) -> bytes:
    data = copy.deepcopy(good)
    holder: Any = data
    for step in row.path[:-1]:
        holder = holder[step]
    if row.value is NOTHING:
        del holder[row.path[-1]]
    else:
        holder[row.path[-1]] = row.value
    return json.dumps(data).encode()


def place_of(row: Row) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in row.path)[1:]


def check(message: str, source: str, place: str, found: str, allowed: str) -> None:
    assert message.isprintable(), "not one line"
    assert len(message) < 600
    where, _, rest = message.partition(": found ")
    what, _, may_be = rest.partition("; allowed: ")
    assert where.startswith(f"{source}: {place}" if place else source)
    assert what.startswith(found)
    assert allowed in may_be


def test_the_unspoiled_inputs_are_valid() -> None:
    assert len(read_state(json.dumps(GOOD).encode()).tasks) == 2
    assert len(read_assignment(json.dumps(ANSWER).encode()).clients) == 2


@pytest.mark.parametrize("row", STATE, ids=lambda row: f"{place_of(row)[:40]!a}={str(row.value)[:20]!a}")
def test_bad_states(row: Row) -> None:
    with pytest.raises(InputError) as error:
        read_state(spoiled(GOOD, row))
    place = place_of(row) if row.place is None else row.place
    check(str(error.value), "input", place, row.found, row.allowed)
    assert "more)" not in str(error.value), "errors that follow from the first are not counted"


@pytest.mark.parametrize("row", ASSIGNMENT, ids=lambda row: f"{place_of(row)}={str(row.value)[:20]!a}")
def test_bad_assignments(row: Row) -> None:
    with pytest.raises(InputError) as error:
        read_assignment(spoiled(ANSWER, row))
    check(str(error.value), "input", place_of(row) if row.place is None else row.place, row.found, row.allowed)


@pytest.mark.parametrize(("text", "place", "found", "allowed"), SYNTAX, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("read", [read_state, read_assignment])
def test_invalid_json_is_refused(read: Callable[[bytes], Any], text: bytes, place: str, found: str, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    check(str(error.value), "input", place, found, allowed)


def test_a_repeated_name_is_found_among_many_in_linear_time() -> None:
    """Comparing each of 200,000 names with all before it would take minutes."""
    lags = ", ".join(f'"0_{partition}": 0' for partition in [*range(200_000), 199_999])
    with pytest.raises(InputError, match=r"found field \"0_199999\" twice; allowed: each name once in an object"):
        read_state(f'{{"format": 1, "clients": [{{"lags": {{{lags}}}}}]}}'.encode())


def test_every_cut_of_a_good_file_is_refused_in_one_line() -> None:
    text = json.dumps(GOOD, indent=1).encode()
    for length in range(len(text) - 1):
        with pytest.raises(InputError) as error:
            read_state(text[:length])
        assert str(error.value).isprintable()


def test_more_errors_are_counted() -> None:
    data = copy.deepcopy(GOOD)
    data["clients"][0]["threads"] = 0
    data["clients"][1]["threads"] = 0
    data["tasks"][0]["weight"] = 0
    with pytest.raises(InputError, match=r"\(and 1 more\)$"):  # only the first error of a list counts: there could be millions
        read_state(json.dumps(data).encode())


class TestFiles:
    @pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
    def test_recordings_are_read(self, path: Path) -> None:
        assert len(read_state(path).tasks) == 16
        assert read_state(str(path)) == read_state(path.read_bytes())

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode())))
        assert len(read_state("-").clients) == 2
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        with pytest.raises(InputError, match=r"^standard input: found an empty text"):
            read_state("-")

    def test_a_byte_order_mark_is_no_harm(self, tmp_path: Path) -> None:
        file = tmp_path / "bom.json"
        file.write_text(json.dumps(GOOD), encoding="utf-8-sig")
        assert len(read_state(file).clients) == 2

    def test_unreadable_files_are_refused(self, tmp_path: Path) -> None:
        for path, found in [
            (tmp_path / "none.json", "no such file"),
            (tmp_path, "a folder"),
            (tmp_path / "nul\0", "cannot be read"),
            (tmp_path / ("long" * 1000), "cannot be read"),
        ]:
            with pytest.raises(InputError) as error:
                read_state(path)
            assert f": found {found}" in str(error.value) or f"that it {found} (" in str(error.value)
            assert str(error.value).endswith(
                "allowed: a file with JSON in UTF-8, also compressed by gzip, or - for standard input"
            )
            assert str(error.value).isprintable()

    def test_without_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # The test does not use chmod, since root, which runs tests in containers, may read everything.
        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
        with pytest.raises(InputError, match="found a file that may not be read"):
            read_state(tmp_path / "secret.json")


class TestUnknownFieldsIgnored:
    def test_they_are_named_in_the_log_and_left_out(self, caplog: pytest.LogCaptureFixture) -> None:
        data = copy.deepcopy(GOOD)
        data["new"] = 1
        for task in data["tasks"]:
            task |= {"fresh": {"a": 1}, "later": 2}
        with caplog.at_level(logging.WARNING):
            assert read_state(json.dumps(data).encode(), unknown="ignore") == read_state(json.dumps(GOOD).encode())
        assert caplog.messages == ["input: unknown fields ignored: new, tasks[].fresh, tasks[].later"]

    def test_everything_else_is_still_refused(self) -> None:
        data = copy.deepcopy(GOOD)
        data["new"] = 1
        data["clients"][0]["threads"] = 0
        with pytest.raises(InputError, match=r"clients\[0\].threads"):
            read_state(json.dumps(data).encode(), unknown="ignore")

    def test_nothing_is_logged_without(self, caplog: pytest.LogCaptureFixture) -> None:
        read_state(json.dumps(GOOD).encode(), unknown="ignore")
        assert not caplog.messages


def test_garbage_collection_is_off_while_reading_and_then_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    while_reading = []

    def noting(text: str, **how: Any) -> Any:
        while_reading.append(gc.isenabled())
        return json.JSONDecoder(**how).decode(text)

    monkeypatch.setattr("optassign.formats.json_input.json.loads", noting)
    assert gc.isenabled()
    read_state(json.dumps(GOOD).encode())
    assert while_reading == [False]
    assert gc.isenabled()
    with pytest.raises(InputError):
        read_state(b'{"format": 1}')
    assert gc.isenabled()
    gc.disable()
    try:
        read_state(json.dumps(GOOD).encode())
        assert not gc.isenabled()
    finally:
        gc.enable()
