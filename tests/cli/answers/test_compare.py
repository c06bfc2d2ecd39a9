"""Tests of `optassign compare`: its figures for each assignor, its forms, and the rules that its exit code depends on.
They test `optassign.cli.show.comparison_tables` and `optassign.cli.show.pictures`."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from command_line import run_here

from optassign import assignor as assignors
from optassign.generating import generate
from optassign.simulation.convergence import converge

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def registered_assignors() -> None:
    """Leave out the unusual assignors that other tests of the command line register: a comparison would ask them, too."""


@pytest.fixture(scope="module")
def scale_out(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("compare") / "scale-out.json"
    path.write_text(generate(shape="scale-out", tasks=30, clients=6, seed=4).model_dump_json())
    return str(path)


def test_every_assignor_that_needs_no_jdk_is_asked(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, _ = run_here(capsys, "compare", scale_out, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found["assignors"]) == {"previous", *assignors.list_names_without_jdk()}
    assert not found["failures"]
    for name in ("cp-sat", "greedy"):
        assert found["assignors"][name]["violations"] == {}
        assert found["assignors"][name]["planned_work"] >= found["restore_work_bound"]
    assert found["restore_work_bound_by"] in ("greedy", "cp-sat")
    assert found["assignors"]["previous"]["seconds"] is None


def test_rules_that_a_baseline_breaks_are_shown_without_an_error(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    """gap-sticky places tasks by their previous owners and not by lags, so it breaks R3 or R5 on this snapshot."""
    code, out, _ = run_here(capsys, "compare", scale_out, "--assignors", "gap-sticky,cp-sat", "--format", "table")
    assert code == 0
    assert out.splitlines()[0].split() == ["previous", "gap-sticky", "cp-sat"]
    row = next(line for line in out.splitlines() if line.startswith("rules broken"))
    assert "R5" in row or "R3" in row
    assert "!" in row
    assert "do not promise" in out


def test_converge_plays_each_to_its_end(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    code, out, _ = run_here(capsys, "compare", scale_out, "--assignors", "greedy, cp-sat,greedy", "--converge", "--json")
    found = json.loads(out)["assignors"]
    assert (code, list(found)) == (0, ["previous", "greedy", "cp-sat"])
    for name in ("greedy", "cp-sat"):
        alone = converge(generate(shape="scale-out", tasks=30, clients=6, seed=4), name)
        played = found[name]["converge"]
        assert (played["rebalances"], played["moved_active"]) == (alone.rebalances, alone.moved_active)
        counted = (played["moved_logged"], played["moved_more_than_once"], played["moves_repeated"])
        assert counted == (alone.moved_logged, alone.moved_more_than_once, alone.moves_repeated)
        assert (played["restored_offsets"], played["settled"], played["rests"]) == (alone.restored_offsets, True, True)
    assert "converge" not in found["previous"]


def test_each_vector_of_weights_is_a_column_with_its_cost_and_its_bound(
    capsys: pytest.CaptureFixture[str], scale_out: str
) -> None:
    arguments = ("compare", scale_out, "--assignors", "cp-sat", "--weights", "1000,100,1", "--weights", "1,1,1e3")
    code, out, _ = run_here(capsys, *arguments, "--weights", "1000,100,1", "--json")
    assert code == 0
    columns = json.loads(out)["assignors"]
    assert list(columns) == ["previous", "cp-sat", "weighted 1000,100,1", "weighted 1,1,1000"]
    balanced, sticky = columns["weighted 1000,100,1"], columns["weighted 1,1,1000"]
    assert balanced["weights"] == {"instance": 1000.0, "subtopology": 100.0, "stickiness": 1.0}
    assert balanced["weighted_cost"] == balanced["weighted_cost_bound"] > 0
    assert sticky["planned_work"] < balanced["planned_work"] <= columns["cp-sat"]["planned_work"]
    assert balanced["violations"] == sticky["violations"] == {}
    assert not {"weights", "weighted_cost", "weighted_cost_bound"} & {*columns["cp-sat"], *columns["previous"]}


def test_the_tables_have_the_cost_of_weights_and_converge_plays_them(
    capsys: pytest.CaptureFixture[str], scale_out: str
) -> None:
    arguments = ("compare", scale_out, "--assignors", "greedy", "--weights", "1000,100,1", "--converge")
    code, out, _ = run_here(capsys, *arguments, "--format", "markdown")
    assert code == 0
    rows = {line.split(" | ")[0]: line.rstrip(" |").split(" | ")[1:] for line in out.splitlines() if line.startswith("|")}
    cost, bound = rows["| weighted cost of the target"], rows["| its bound"]
    assert cost[:2] == bound[:2] == ["", ""]
    assert cost[2] == bound[2]
    assert rows["| converges"][2] == "yes"
    assert "by its weights of instance" in out


def test_at_rest_the_cost_of_weights_has_its_bound_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "steady.json"
    path.write_text(generate(shape="steady", tasks=30, clients=6, seed=4).model_dump_json())
    arguments = ("compare", str(path), "--assignors", "greedy", "--weights", "1000,100,1")
    column = json.loads(run_here(capsys, *arguments, "--json")[1])["assignors"]["weighted 1000,100,1"]
    assert (column["weighted_cost"], column["weighted_cost_bound"]) == (0.0, 0.0)


def test_an_assignor_that_does_not_settle_is_an_error(capsys: pytest.CaptureFixture[str], scale_out: str) -> None:
    arguments = ("compare", scale_out, "--assignors", "cp-sat", "--converge", "--max-rebalances", "1")
    code, out, _ = run_here(capsys, *arguments, "--json")
    assert code == 1
    assert json.loads(out)["assignors"]["cp-sat"]["converge"]["settled"] is False


def test_tables_of_many_are_split_to_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scale_out: str
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    _, out, _ = run_here(capsys, "compare", scale_out, "--format", "table")
    heads = [line.split() for line in out.splitlines() if "previous" in line.split()]
    assert len(heads) > 1
    asked = [name for head in heads for name in head if name != "previous"]
    assert sorted(asked) == sorted(assignors.list_names_without_jdk())
    assert all(len(line) <= 90 for line in out.splitlines() if "imbalance" in line)


def test_markdown_is_one_table_with_broken_rules_in_bold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scale_out: str
) -> None:
    path = tmp_path / "comparison.md"
    arguments = ("compare", scale_out, "--assignors", "gap-sticky,cp-sat", "--format", "markdown", "--output", str(path))
    assert run_here(capsys, *arguments)[:2] == (0, "")
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "|  | previous | gap-sticky | cp-sat |"
    assert {line.count("|") for line in table} == {5}
    broken = next(line for line in table if line.startswith("| rules broken"))
    assert "**" in broken
    assert broken.endswith("| none |")
    assert any(line.startswith("- proven minimum") for line in lines)


def test_the_picture_has_a_panel_for_each(capsys: pytest.CaptureFixture[str], tmp_path: Path, scale_out: str) -> None:
    pytest.importorskip("matplotlib")
    png, svg, pdf = (tmp_path / f"loads.{kind}" for kind in ("png", "svg", "pdf"))
    again = [tmp_path / f"again{path.suffix}" for path in (png, svg, pdf)]
    for path in (png, svg, pdf, *again):
        arguments = ("compare", scale_out, "--assignors", "greedy,gap-sticky,cp-sat", "--picture", str(path))
        assert run_here(capsys, *arguments)[0] == 0
    assert png.read_bytes().startswith(PNG)
    assert [path.read_bytes() for path in (png, svg, pdf)] == [path.read_bytes() for path in again]
    drawn = [text for text in ET.parse(svg).getroot().iter() if text.tag.endswith("g") and "axes" in text.get("id", "")]
    assert len([panel for panel in drawn if panel.get("id", "").startswith("axes_")]) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("loads.sheep", "allowed: a name that ends with .png, .svg, .pdf"),
        ("loads", "allowed: a name that ends with .png, .svg, .pdf"),
        ("no/such/folder/loads.png", "allowed: a file to write"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scale_out: str, name: str, message: str
) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run_here(capsys, "compare", scale_out, "--assignors", "greedy", "--picture", str(tmp_path / name))
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_without_a_jdk_it_says_so_and_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scale_out: str
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    code, out, err = run_here(capsys, "compare", scale_out, "--assignors", "greedy", "--kafka", "--json")
    found = json.loads(out)
    assert code == 0
    assert "Kafka's own classes are left out" in err
    assert set(found["left_out"]) == set(assignors.list_names()) - set(assignors.list_names_without_jdk())
    assert list(found["assignors"]) == ["previous", "greedy"]


def test_a_snapshot_between_two_passes_is_told_in_place_of_broken_rules(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(__file__).parents[2] / "data" / "kafka-4.3.1" / "third-instance-joins-second-pass.json")
    code, out, _ = run_here(capsys, "compare", path, "--assignors", "high-availability,cp-sat", "--format", "table")
    assert code == 0
    words = " ".join(out.split())
    assert "11 tasks have no owner: the snapshot was taken between the two passes of a rebalance (KIP-429)" in words
    assert "R1" not in out
    _, out, _ = run_here(capsys, "compare", path, "--assignors", "cp-sat", "--json")
    found = json.loads(out)
    assert found["handed_over"] == 11
    assert found["assignors"]["previous"]["violations"] == {}


def test_an_application_that_starts_hands_nothing_over(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(__file__).parents[2] / "data" / "kafka-4.3.1" / "first-instance-starts.json")
    _, out, _ = run_here(capsys, "compare", path, "--assignors", "greedy", "--format", "table")
    assert "between the two passes" not in out
