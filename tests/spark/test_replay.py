"""The replay of recordings on a real cluster, bad files among them: the rows of each table, and the report."""

import gzip
import json
import re
import struct
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_cluster import Cluster, master_options, read_rows, start_optassign, wait_for_end

from optassign import assign
from optassign.benchmarks.spark.recordings.generator import generate_recordings
from optassign.benchmarks.spark.report.report import format_value
from optassign.benchmarks.spark.tables.columns import CONVERGENCES, ERRORS, REPLAYS, spark_schema
from optassign.judging.metrics import measure
from optassign.recordings.recording import Recording, read_recording
from optassign.simulation.convergence import converge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    """Good ones of two applications, one of them with a name that Spark would pass by, and one bad one of each kind."""
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
    # A checksum that is not that of the file: Hadoop refuses to read it, whoever asks.
    (path.parent / f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">ii", 512, 0) * 3)
    return folder


@pytest.fixture(scope="module")
def replayed(cluster: Cluster, recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed")
    options = ("--output", str(folder), "--assignors", ",".join(ASSIGNORS), "--converge")
    out, err = wait_for_end(start_optassign("replay", str(recordings), *options, *master_options(cluster.master)))
    assert "22 recordings replayed, 23 are there" in err
    assert [Path(line).suffix for line in out.split()] == [".html", ".md"]
    return folder


def read_good_recordings(recordings: Path) -> dict[str, Recording]:
    paths = sorted(path for path in recordings.glob("*application-*/*/*.json.gz"))
    return {str(path.relative_to(recordings)): read_recording(path) for path in paths}


def test_every_recording_is_measured_under_every_assignor_and_as_it_was(replayed: Path, recordings: Path) -> None:
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


def test_bad_files_are_rows_of_their_own(replayed: Path) -> None:
    errors = {row["path"]: row["error"] for row in read_rows(replayed, "errors")}
    assert set(errors) == set(BAD)
    for path, reason in BAD.items():
        assert reason in errors[path], path


def test_episodes_are_played_from_their_beginning(replayed: Path, recordings: Path) -> None:
    begins: dict[str, Recording] = {}
    followup: dict[str | None, bool] = defaultdict(bool)
    for path, recording in sorted(read_good_recordings(recordings).items(), key=lambda pair: pair[1].recorded_at):
        if not followup[recording.application]:
            begins[path] = recording
        followup[recording.application] = any(c.followup_rebalance_ms is not None for c in recording.assignment.clients)
    rows = read_rows(replayed, "convergences")
    assert {(row["path"], row["assignor"]) for row in rows} == {(path, name) for path in begins for name in ASSIGNORS}
    assert 2 < len(begins) < 16
    for row in rows:
        played = converge(begins[row["path"]].snapshot, row["assignor"])
        assert (row["rebalances"], row["converged_restored"]) == (played.rebalances, played.restored_offsets)


def test_files_have_the_documented_columns(replayed: Path, spark: "SparkSession") -> None:
    for name, columns in (("replays", REPLAYS), ("convergences", CONVERGENCES), ("errors", REPLAYS)):
        (folder,) = replayed.glob(f"table={name}/run=*")
        paths = [str(path) for path in folder.glob("*.parquet")]
        read = [spark.read.parquet(path).schema for path in paths]
        # A file that cannot be read is noted by the driver, which knows no more of it.
        fields = [schema for schema in read if len(schema.fields) > 3]
        assert all(schema == spark_schema(columns) for schema in fields)
        assert fields
    assert ERRORS == REPLAYS


def test_the_report_has_the_numbers_of_the_files(replayed: Path) -> None:
    rows = read_rows(replayed, "replays")
    by_path: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        by_path[row["path"]][row["assignor"]] = row["restore_work"] + row["warmup_work"]
    (html,), (markdown,) = replayed.glob("report-*.html"), replayed.glob("report-*.md")
    for application in ("application-1", "application-2"):
        paths = {row["path"] for row in rows if row["application"] == application}
        for name in ASSIGNORS:
            then, now = (sum(by_path[path][who] for path in paths) for who in ("recorded", name))
            numbers = [format_value(number) for number in (len(paths), then, now, then - now)]
            assert f"| {application} | {name} | {' | '.join(numbers)} |" in markdown.read_text()
            cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
            assert f"<td>{application}</td><td>{name}</td>{cells}" in html.read_text()
    for path in BAD:
        assert path in html.read_text()


def test_the_report_needs_nothing_else(replayed: Path) -> None:
    (html,) = replayed.glob("report-*.html")
    text = html.read_text()
    assert "<svg" in text
    assert not re.search(r"<(?:script|link|img|iframe)\b", text)
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)


def test_what_was_replayed_is_not_replayed_again(replayed: Path, spark: "SparkSession") -> None:
    from optassign.benchmarks.spark.replay import run_replay
    from optassign.benchmarks.spark.runs import find_run
    from optassign.benchmarks.spark.storage import Storage

    storage = Storage(spark, str(replayed))
    before = set(replayed.glob("table=*/run=*/*.parquet"))
    assert len(before) == 3  # one for each table
    done = run_replay(spark, storage, find_run(storage, None))
    assert (done.recordings, done.convergences) == (0, 0)
    assert before == set(replayed.glob("table=*/run=*/*.parquet"))
    assert len(read_rows(replayed, "replays")) == 16 * 3
    assert {row["path"] for row in read_rows(replayed, "errors")} == set(BAD)


def test_ten_times_the_size(recordings: Path, spark: "SparkSession", tmp_path: Path) -> None:
    from optassign.benchmarks.spark.replay import run_replay
    from optassign.benchmarks.spark.runs import Run
    from optassign.benchmarks.spark.solving.jobs import Limits
    from optassign.benchmarks.spark.storage import Storage

    folder = recordings / "_application-2"
    run = Run("replay", "replay", ("greedy",), Limits(), recordings=f"file:{folder}", scale=10)
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
