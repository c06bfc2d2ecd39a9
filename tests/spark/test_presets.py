"""Tests of grids: errors in a TOML file, and the rows of a grid in their order."""

from pathlib import Path

import pytest

import optassign
from optassign.assignor import list_names, list_names_without_jdk
from optassign.cli.commands.benchmarks.benchmark import PRESETS as OFFERED
from optassign.formats.input_errors import InputError
from optassign_benchmarks.spark.presets import HISTORIES, PRESETS, Sweep, read_sweep

FINE = 'name = "mine"\nsizes = [[10, 2]]\n'


def read(text: str, folder: Path) -> Sweep:
    path = folder / "grid.toml"
    path.write_text(text)
    sweep = read_sweep(path)
    assert isinstance(sweep, Sweep)
    return sweep


@pytest.mark.parametrize(
    ("text", "place", "found", "allowed"),
    [
        ("sizes = [[10, 2]]", "name", "nothing", "letters, digits"),
        ('name = "a/b"\nsizes = [[10, 2]]', "name", '"a/b"', "letters, digits"),
        ('name = "a"', "sizes", "nothing", "[tasks, clients]"),
        ('name = "a"\nsizes = []', "sizes", "an empty list", "[tasks, clients]"),
        ('name = "a"\nsizes = [[10]]', "sizes[0]", "a list of 1", "[tasks, clients]"),
        ('name = "a"\nsizes = [[10, 0]]', "sizes[0][1]", "0", "clients from 1"),
        ('name = "a"\nsizes = [[10, 2], [10, 2]]', "sizes", "stands twice", "each once"),
        (FINE + 'shapes = ["hot"]', "shapes[0]", '"hot"', "scale-out"),
        (FINE + 'warmups = ["much"]', "warmups[0]", '"much"', '"10%"'),
        (FINE + "threads = [[4, 1]]", "threads[0]", "a list of 2", "[lowest, highest]"),
        (FINE + "seeds = [-1]", "seeds[0]", "-1", "integers from 0"),
        (FINE + "seed = [1]", "seed", "an unknown field", "seeds"),
        (FINE + 'assignors = ["best"]', "assignors[0]", "'best'", "cp-sat"),
        (FINE + "memory = 1", "memory", "1", "true or false"),
        (FINE + "[limits]\nanswer_limit = 0", "limits.answer_limit", "0", "seconds above 0"),
        (FINE + "[limits]\npatience = 1", "limits.patience", "an unknown field", "answer_limit"),
        ('name = "a"\nsnapshots = 3', "snapshots", "3", "paths of snapshots"),
        ('name = "a"\nsnapshots = ["a/x.json", "b/x.json"]', "snapshots", "a name twice", "different names"),
        (FINE + '[[options]]\npreset = "weighted"', "options", "a list of 1", "each with a name"),
        (FINE + '[[options]]\nname = "x"\npreset = "bad"', "options[0].preset", '"bad"', "weighted"),
        (FINE + '[[options]]\nname = "x"\n[[options]]\nname = "x"', "options", "a name twice", "each name once"),
        ("name = ", "line 1", '"name ="', "TOML (invalid value)"),
    ],
)
def test_errors_name_their_place(text: str, place: str, found: str, allowed: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    assert error.value.place == place
    assert found in error.value.found
    assert allowed in error.value.allowed


def test_options_and_users_snapshots_are_axes(tmp_path: Path) -> None:
    own = optassign.generate("scale-out", tasks=12, clients=3)
    (tmp_path / "own.json").write_text(own.model_dump_json(), encoding="utf-8")
    text = FINE + 'shapes = ["cold"]\nsnapshots = ["own.json"]\n'
    text += '[[options]]\nname = "as-it-is"\n[[options]]\nname = "few-moves"\npreset = "weighted"\nweights.stickiness = 100.0\n'
    sweep = read(text, tmp_path)
    made = {spec.name: spec.generate() for spec in sweep.specs()}
    assert list(made) == [
        *("cold-10x2x1-seed=1-options=as-it-is", "cold-10x2x1-seed=1-options=few-moves"),
        *("own-options=as-it-is", "own-options=few-moves"),
    ]
    assert made["own-options=as-it-is"] == own
    assert made["own-options=few-moves"] == own.with_options(preset="weighted", weights={"stickiness": 100.0})
    assert Sweep.model_validate_json(sweep.model_dump_json()) == sweep, "a run's file has the contents"


def test_an_unreadable_snapshot_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: found no such file"):
        read('name = "a"\nsnapshots = ["none.json"]', tmp_path)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; allowed: a file with TOML"):
        read_sweep(tmp_path / "none.toml")


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    sweep = read(
        'name = "m"\nshapes = ["cold", "steady"]\nsizes = [[10, 2], [40, 30]]\n'
        'warmups = ["10%", 5]\nthreads = [1, [1, 4]]\nseeds = [1, 2]',
        tmp_path,
    )
    specs = sweep.specs()
    assert len(specs) == len(set(specs)) == 2 * 2 * 2 * 2 * 2
    assert {(spec.clients, spec.warmups) for spec in specs} == {(2, 2), (2, 5), (30, 3), (30, 5)}
    assert {spec.threads for spec in specs} == {1, (1, 4)}


def test_all_assignors_that_need_no_jdk_take_part(tmp_path: Path) -> None:
    sweep = read(FINE, tmp_path)
    assert set(sweep.list_assignors()) == set(list_names_without_jdk())
    assert set(sweep.list_assignors(kafka=True)) == set(list_names())


def test_equal_instances_are_solved_once(tmp_path: Path) -> None:
    sweep = read(FINE + 'shapes = ["cold"]\nwarmups = [2, "10%"]', tmp_path)
    assert [(spec.warmups, name) for spec, name in sweep.rows(("greedy",))] == [(2, "greedy")]


def test_the_longest_begin_first() -> None:
    rows = PRESETS["paper"].rows(PRESETS["paper"].list_assignors())
    assert {(spec.tasks, name) for spec, name in rows[:15]} <= {(10_000, "goal-chain"), (1_000, "goal-chain")}
    assert rows[-1][0].tasks == 100
    assert len(rows) == 5 * 4 * 3 * len(PRESETS["paper"].list_assignors())


def test_the_command_line_lists_all_presets() -> None:
    assert (*PRESETS, HISTORIES.name) == OFFERED
