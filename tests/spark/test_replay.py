"""Tests of the replay of recordings on a real cluster, with bad files: the rows of each table, and the report.
They test `optassign.cli.commands.benchmarks.replay` and `optassign_benchmarks.spark.replay_queries`."""

import gzip
import json
import re
import shlex
import shutil
import struct
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_cluster import Cluster, list_master_options, read_rows, start_optassign, wait_for_end
from spark_reports import PAGE, measure_tables, paste_queries, read_tables

from optassign import assign
from optassign.judging.metrics import measure
from optassign.recordings.recording import Recording, read_recording
from optassign.simulation.convergence import converge
from optassign_benchmarks.spark.recordings import generate_recordings
from optassign_benchmarks.spark.reports.query import format_value
from optassign_benchmarks.spark.tables import CONVERGENCES, ERRORS, REPLAYS, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

ASSIGNORS = ("cp-sat", "greedy")
BAD = {
    "orders/2026-07-01/000000.000-1.json.gz": "not compressed",
    "orders/2026-07-01/000000.000-2.json.gz": "cut short",
    "orders/2026-07-01/000000.000-3.json.gz": "allowed: JSON in UTF-8",
    "orders/2026-07-01/000000.000-4.json.gz": "format: found 2",
    "orders/2026-07-01/000000.000-5.json.gz": "snapshot.clients: found an empty list",
    "orders/2026-07-01/000000.000-6.json.gz": "assignment.clients: found other clients than in the snapshot",
    "orders/2026-07-01/000000.000-7.json.gz": "the file cannot be read",
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with recordings of two applications, one with a name that Spark would skip, and bad files."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = generate_recordings(folder, 16, tasks=12, clients=3, applications=2)
    (folder / "application-2").rename(folder / "_application-2")
    good = json.loads(gzip.decompress(paths[0].read_bytes()))
    contents = [
        b"nonsense",
        paths[0].read_bytes()[:-20],
        gzip.compress(b"{]"),
        gzip.compress(json.dumps({**good, "format": 2}).encode()),
        gzip.compress(json.dumps({**good, "snapshot": {**good["snapshot"], "clients": []}}).encode()),
        gzip.compress(json.dumps({**good, "assignment": {**good["assignment"], "clients": []}}).encode()),
        paths[0].read_bytes(),
    ]
    for name, content in zip(BAD, contents, strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    # Hadoop refuses to read a file whose checksum is wrong.
    (path.parent / f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">ii", 512, 0) * 3)
    return folder


@pytest.fixture(scope="module")
def replayed(cluster: Cluster, recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed")
    options = ("--output", str(folder), "--assignors", ",".join(ASSIGNORS), "--converge")
    out, err = wait_for_end(start_optassign("replay", str(recordings), *options, *list_master_options(cluster.master)))
    message = re.fullmatch(
        r"optassign replay: 22 recordings replayed, 23 are there, all ok, 7 files are no recordings,"
        r" (\d) of (\d) episodes not ended; to solve the failures again: `optassign replay .* --failed`",
        err.splitlines()[-1],
    )
    assert message is not None, err
    begins, ends = find_episodes(recordings)
    assert [int(number) for number in message.groups()] == [sum(not ended for ended in ends.values()), len(begins)]
    assert [Path(line).suffix for line in out.split()] == [".html", ".md"]
    return folder


def read_good_recordings(recordings: Path) -> dict[str, Recording]:
    paths = sorted(path for path in recordings.glob("*application-*/*/*.json.gz"))
    return {str(path.relative_to(recordings)): read_recording(path) for path in paths}


def test_every_recording_is_measured_under_every_assignor_and_as_recorded(replayed: Path, recordings: Path) -> None:
    rows = {(row["path"], row["assignor"]): row for row in read_rows(replayed, "replays")}
    assert len(rows) == len(read_rows(replayed, "replays")) == 16 * 3
    for path, recording in read_good_recordings(recordings).items():
        for name in (*ASSIGNORS, "recorded"):
            answer = recording.assignment if name == "recorded" else assign(recording.snapshot, name)
            measures, row = measure(recording.snapshot, answer), rows[path, name]
            assert (row["status"], row["application"], row["day"]) == ("ok", recording.application, recording.recorded_at[:10])
            assert row["active_moves"] == measures.active_moves
            assert row["restore_work"] + row["warmup_work"] == measures.restore_work + measures.warmup_work
            assert row["recorded_assignor"] == "high-availability"


def test_bad_files_have_their_own_rows(replayed: Path) -> None:
    errors = {row["path"]: row["error"] for row in read_rows(replayed, "errors")}
    assert set(errors) == set(BAD)
    for path, reason in BAD.items():
        assert reason in errors[path], path


def find_episodes(recordings: Path) -> tuple[dict[str, Recording], dict[str, bool]]:
    """Return path → first recording of an episode, and path → whether its last recording requests no follow-up."""
    begins: dict[str, Recording] = {}
    ends: dict[str, bool] = {}
    current: dict[str | None, str] = {}
    for path, recording in sorted(read_good_recordings(recordings).items(), key=lambda pair: pair[1].recorded_at):
        application = recording.application
        if ends.get(current.get(application, ""), True):
            current[application] = path
            begins[path] = recording
        ends[current[application]] = all(c.followup_rebalance_ms is None for c in recording.assignment.clients)
    return begins, ends


def test_episodes_are_played_from_their_beginning(replayed: Path, recordings: Path) -> None:
    begins, _ = find_episodes(recordings)
    rows = read_rows(replayed, "convergences")
    assert {(row["path"], row["assignor"]) for row in rows} == {(path, name) for path in begins for name in ASSIGNORS}
    assert 2 < len(begins) < 16
    for row in rows:
        played = converge(begins[row["path"]].snapshot, row["assignor"])
        assert (row["converged_rebalances"], row["converged_restored_offsets"]) == (played.rebalances, played.restored_offsets)


def test_files_have_the_documented_columns(replayed: Path, spark: "SparkSession") -> None:
    for name, columns in (("replays", REPLAYS), ("convergences", CONVERGENCES), ("errors", ERRORS)):
        (folder,) = replayed.glob(f"table={name}/run=*")
        assert spark.read.parquet(str(folder)).schema == spark_schema(columns)


def test_the_report_has_the_numbers_of_the_files(replayed: Path) -> None:
    rows = read_rows(replayed, "replays")
    by_path: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        by_path[row["path"]][row["assignor"]] = row["restore_work"] + row["warmup_work"]
    (html,), (markdown,) = replayed.glob("report-*.html"), replayed.glob("report-*.md")
    page = re.sub(r' class="[^"]*"', "", html.read_text())
    for application in ("application-1", "application-2"):
        paths = {row["path"] for row in rows if row["application"] == application}
        for name in ASSIGNORS:
            then, now = (sum(by_path[path][who] for path in paths) for who in ("recorded", name))
            numbers = [format_value(number) for number in (len(paths), then, now, then - now)]
            assert f"| {application} | {name} | {' | '.join(numbers)} |" in markdown.read_text()
            cells = "".join(f"<td>{number}</td>" for number in numbers)
            assert f"<td>{application}</td><td>{name}</td>{cells}" in page
    for path in BAD:
        assert path in page


def test_the_report_is_self_contained(replayed: Path) -> None:
    (html,) = replayed.glob("report-*.html")
    text = html.read_text()
    assert "<svg" in text
    assert not re.search(r"<(?:script|link|img|iframe)\b", text)
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)


def test_the_report_begins_with_the_savings(replayed: Path, recordings: Path) -> None:
    (path,) = replayed.glob("report-*.md")
    title, episodes, rebalances, failed = path.read_text().split("\n\n")[:4]
    assert title == "# Replay of recorded rebalances: replay"
    assert failed == "All 48 rows are ok."

    begins, ends = find_episodes(recordings)
    unended = sum(not ended for ended in ends.values())
    assert unended >= 1
    played = [row for row in read_rows(replayed, "convergences") if ends[row["path"]]]
    work = {(row["path"], row["assignor"]): row["restore_work"] + row["warmup_work"] for row in read_rows(replayed, "replays")}
    then = sum(work[path, "recorded"] for path in list_paths_of_ended_episodes(recordings))
    now = {name: sum(row["converged_restored_offsets"] for row in played if row["assignor"] == name) for name in ASSIGNORS}
    assert f"({format_value(then)} offsets then, {format_value(min(now.values()))} now;" in episodes
    assert episodes.startswith("Whole episodes: **`")
    assert episodes.endswith(f"of {len(begins) - unended} episodes; left out: {unended} not ended, 0 cut short).")

    sums = {name: sum(value for (_, who), value in work.items() if who == name) for name in (*ASSIGNORS, "recorded")}
    best = min(ASSIGNORS, key=lambda name: sums[name])
    assert rebalances.startswith("Single rebalances: **`")
    assert f"({format_value(sums['recorded'])} offsets then, {format_value(sums[best])} now;" in rebalances
    assert rebalances.endswith("of 16 rebalances).")


def list_paths_of_ended_episodes(recordings: Path) -> list[str]:
    begins, ends = find_episodes(recordings)
    found, current = [], {}
    for path, recording in sorted(read_good_recordings(recordings).items(), key=lambda pair: pair[1].recorded_at):
        if path in begins:
            current[recording.application] = path
        if ends[current[recording.application]]:
            found.append(path)
    return found


def test_unfinished_episodes_are_counted_and_left_out(replayed: Path, recordings: Path) -> None:
    _, ends = find_episodes(recordings)
    (path,) = replayed.glob("report-*.md")
    for title in ("Best assignors over whole episodes", "Savings over whole episodes, by application"):
        head, *lines = read_tables(path.read_text())[title][1]
        for line in lines:
            row = dict(zip(head, line, strict=True))
            mine = [ended for path, ended in ends.items() if row.get("application", "") in path]
            assert (int(row["episodes"]), int(row["not ended"])) == (sum(mine), len(mine) - sum(mine))


def test_every_query_can_be_pasted(replayed: Path, tmp_path: Path) -> None:
    (path,) = replayed.glob("report-*.md")
    tables = read_tables(path.read_text())
    assert len(tables) >= 7
    for rows, (title, (_, lines)) in zip(
        paste_queries([sql for sql, _ in tables.values()], tmp_path), tables.items(), strict=True
    ):
        assert [row[0] for row in rows] == [line[0] for line in lines[1:]], title


def test_all_tables_fit_the_page(replayed: Path) -> None:
    (page,) = replayed.glob("report-*.html")
    widths = measure_tables(page.read_text())
    assert len(widths) >= 7
    assert {title: width for title, width in widths.items() if width > PAGE} == {}


def test_failures_are_replayed_again_on_request(recordings: Path, tmp_path: Path) -> None:
    """A recording that has become complete is replayed with `--failed` only."""
    folder, out = tmp_path / "recordings", tmp_path / "out"
    shutil.copytree(recordings / "application-1", folder)
    path = sorted(folder.rglob("*.json.gz"))[-1]
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    command = ("replay", str(folder), "--output", str(out), "--assignors", "sticky", *list_master_options("local[1]"))
    _, err = wait_for_end(start_optassign(*command))
    assert err.splitlines()[-1].endswith(
        "8 recordings replayed, 8 are there, all ok, 1 file is no recording;"
        f" to solve the failures again: `optassign {shlex.join(command)} --failed`"
    )
    path.write_bytes(whole)
    _, err = wait_for_end(start_optassign(*command))
    assert "0 recordings replayed, 8 are there, all ok, 1 file is no recording" in err.splitlines()[-1]
    _, err = wait_for_end(start_optassign(*command, "--failed"))
    assert err.splitlines()[-1].endswith("1 recording replayed, 8 are there, all ok")
    assert read_rows(out, "errors") == []
    assert len({(row["path"], row["assignor"]) for row in read_rows(out, "replays")}) == len(read_rows(out, "replays")) == 16


def test_replayed_recordings_are_not_replayed_again(replayed: Path, spark: "SparkSession") -> None:
    from optassign_benchmarks.spark.replay import run_replay
    from optassign_benchmarks.spark.runs import find_run
    from optassign_benchmarks.spark.storage import Storage

    storage = Storage(spark, str(replayed))
    before = set(replayed.glob("table=*/run=*/*.parquet"))
    assert len(before) == 3  # one for each table
    done = run_replay(spark, storage, find_run(storage, None))
    assert (done.recordings, done.convergences) == (0, 0)
    assert before == set(replayed.glob("table=*/run=*/*.parquet"))
    assert len(read_rows(replayed, "replays")) == 16 * 3
    assert {row["path"] for row in read_rows(replayed, "errors")} == set(BAD)


def test_ten_times_the_size(recordings: Path, spark: "SparkSession", tmp_path: Path) -> None:
    from optassign_benchmarks.spark.replay import run_replay
    from optassign_benchmarks.spark.runs import Run
    from optassign_benchmarks.spark.solver_process import SolverLimits
    from optassign_benchmarks.spark.storage import Storage

    folder = recordings / "_application-2"
    run = Run("replay", "replay", ("greedy",), SolverLimits(), recordings=f"file:{folder}", scale=10)
    run_replay(spark, Storage(spark, str(tmp_path)), run)
    rows = {(row["path"], row["assignor"]): row for row in read_rows(tmp_path, "replays")}
    for path, recording in read_good_recordings(recordings).items():
        if path.startswith("_application-2/"):
            then = measure(recording.snapshot, recording.assignment)
            row = rows[path.removeprefix("_application-2/"), "recorded"]
            assert (row["tasks"], row["clients"], row["scale"]) == (120, 30, 10)
            assert row["active_moves"] == 10 * then.active_moves
            assert row["warmup_work"] == 10 * then.warmup_work
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert len(rows) == 16
