"""The inputs of a sweep: the presets, and grids from TOML files (docs/how-to/spark.md shows one)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from optassign.assignor import find_traits, list_names, list_names_without_jdk, list_variants
from optassign.formats.base import Count, Frozen, NotEmpty
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError, from_validation, show_value
from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.formats.toml_input import read_toml
from optassign.generating import SHAPES, Shape
from optassign.recordings.recording import read_rebalance
from optassign_benchmarks.grid import HistorySpec, Spec
from optassign_benchmarks.spark.solver_process import SolverLimits

__all__ = [
    "HISTORIES",
    "PRESETS",
    "HistorySweep",
    "Row",
    "Sweep",
    "SweepLimits",
    "estimate_seconds",
    "make_batches",
    "read_sweep",
]

Row = tuple[Spec | HistorySpec, str]
"""A benchmark instance or a history, and an assignor."""

_Share = Annotated[float, Field(ge=0, le=1)]
_Size = Annotated[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]], Field(strict=False)]
_Percent = Annotated[str, Field(pattern=r"^([1-9][0-9]?|100)%$", description='a share of the clients such as "10%"')]
_ALLOWED = {
    "name": "letters, digits, -, _ and ., not beginning with one of these three",
    "shapes": f"a list of {', '.join(SHAPES)}, each once",
    "sizes": "a list of [tasks, clients], each once, with tasks from 0 and clients from 1",
    "standbys": "a list of integers from 0, each once",
    "warmups": 'a list of integers from 1 or shares of the clients such as "10%", each once',
    "threads": "a list of integers from 1 or of [lowest, highest], each once",
    "seeds": "a list of integers from 0, each once",
    "assignors": "a list of names of assignors, each once",
    "snapshots": "a list of paths of snapshots or recordings",
    "options": "tables [[options]], each with a name of letters, digits, -, _ and ., and fields of options",
    "converge_up_to": "a number of tasks from 0",
    "histories": "small or large",
    "seed": "an integer from 0",
    "count": "an integer from 1 to 10,000,000",
    **dict.fromkeys(("stateless", "unlogged", "tiny", "unknown"), "a share from 0 to 1"),
    **dict.fromkeys(("memory", "dense"), "true or false"),
    "limits.time_limit": "seconds from 0",
    **dict.fromkeys(("limits.answer_limit", "limits.convergence_limit"), "seconds above 0"),
    "limits.memory_limit": "MiB from 0, which is no limit",
}
_RELATIVE_SECONDS = {
    "cp-sat": 8.0,
    "goal-chain": 50.0,
    "high-availability": 3.0,
    "kafka-high-availability": 50.0,
    "sticky": 2.0,
}
"""Approximate seconds of an answer relative to those of the other assignors."""


def _refuse_repeats(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("a value stands twice")
    return values


def _refuse_descending(values: tuple[int, int]) -> tuple[int, int]:
    if values[0] > values[1]:
        raise ValueError("the lowest stands first")
    return values


def _list_of(item: Any) -> Any:
    return Annotated[tuple[item, ...], Field(strict=False, min_length=1), AfterValidator(_refuse_repeats)]


_Range = Annotated[
    tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], Field(strict=False), AfterValidator(_refuse_descending)
]


class SweepLimits(Frozen):
    """The limits of each answer as in the file; `SolverLimits` describes them."""

    time_limit: Annotated[float, Field(ge=0, le=1e6, description="seconds of solving, kept by the assignor")] = 10.0
    answer_limit: Annotated[float, Field(gt=0, le=1e6, description="seconds until an answer is given up")] = 60.0
    convergence_limit: Annotated[float, Field(gt=0, le=1e6, description="seconds until a convergence is given up")] = 60.0
    memory_limit: Annotated[int, Field(ge=0, le=1 << 40, description="MiB of address space; 0: unlimited")] = 4096

    def limits(self) -> SolverLimits:
        """Return the limits for a job."""
        return SolverLimits(self.time_limit, self.answer_limit, self.convergence_limit, self.memory_limit)


class GivenSnapshot(Frozen):
    """A user's snapshot with its content, so that a run can be continued on any machine."""

    name: NotEmpty
    content: NotEmpty

    def spec(self) -> Spec:
        """Return the snapshot as a benchmark instance of the grid."""
        state = to_model(read_value(self.content.encode(), self.name), ApplicationState, self.name)[0]
        configs = state.configs
        return Spec(
            "steady",
            len(state.tasks),
            len(state.clients),
            configs.num_standby_replicas,
            warmups=configs.max_warmup_replicas,
            given=self.name,
            snapshot=self.content,
        )


class NamedOptions(Frozen):
    """Fields of `Options` that a sweep changes together, under a name."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$")]
    changes: dict[str, JsonValue] = Field(default={})


class Sweep(Frozen):
    """A grid: every combination of the values below, under every assignor."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$", description="letters, digits, - _ and .")]
    shapes: _list_of(Shape) = SHAPES  # type: ignore[valid-type]
    sizes: Annotated[tuple[_Size, ...], Field(strict=False), AfterValidator(_refuse_repeats)] = ()
    standbys: _list_of(Count) = (1,)  # type: ignore[valid-type]
    warmups: _list_of(Annotated[int, Field(ge=1)] | _Percent) = ("10%",)  # type: ignore[valid-type]
    threads: _list_of(Annotated[int, Field(ge=1)] | _Range) = (1,)  # type: ignore[valid-type]
    seeds: _list_of(Count) = (1,)  # type: ignore[valid-type]
    assignors: _list_of(NotEmpty) | None = None  # type: ignore[valid-type]
    converge_up_to: Count = 1_000
    """Snapshots of at most this many tasks are also played until the group is stable; larger ones are answered once."""
    stateless: _Share = 0.2
    unlogged: _Share = 0.0
    tiny: _Share = 0.0
    unknown: _Share = 0.0
    memory: bool = False
    dense: bool = False
    limits: SweepLimits = SweepLimits()
    snapshots: Annotated[tuple[GivenSnapshot, ...], Field(strict=False)] = ()
    """The user's snapshots, in addition to the generated ones or instead of them; a file names their paths."""
    options: Annotated[tuple[NamedOptions, ...], Field(strict=False)] = ()
    """Options with which each snapshot is answered; if empty, the snapshot's own options."""

    @model_validator(mode="after")
    def _has_snapshots(self) -> Self:
        if not self.sizes and not self.snapshots:
            raise ValueError("neither sizes nor snapshots")
        return self

    def list_assignors(self, kafka: bool = False) -> tuple[str, ...]:
        """Return the assignors of the sweep, sorted. `kafka`: whether Kafka's own classes are included."""
        return _list_assignors(self.assignors, kafka)

    def specs(self) -> list[Spec]:
        """Return the benchmark instances of the grid, each with each of the options."""
        specs = [*self._list_generated(), *(given.spec() for given in self.snapshots)]
        named = [(each.name, json.dumps(each.changes, sort_keys=True) if each.changes else "") for each in self.options]
        return [replace(spec, options=name, changes=changes) for spec in specs for name, changes in named or [("", "")]]

    def _list_generated(self) -> list[Spec]:
        return [
            Spec(
                shape,
                tasks,
                clients,
                standbys,
                warmups=warmups if isinstance(warmups, int) else max(2, clients * int(warmups[:-1]) // 100),
                threads=threads,
                seed=seed,
                stateless=self.stateless,
                unlogged=self.unlogged,
                tiny=self.tiny,
                unknown=self.unknown,
                memory=self.memory,
                dense=self.dense,
            )
            for (tasks, clients), shape, standbys, warmups, threads, seed in product(
                self.sizes, self.shapes, self.standbys, self.warmups, self.threads, self.seeds
            )
        ]

    def count_unplayed(self) -> int:
        """Return the number of benchmark instances with more tasks than `converge_up_to`, which are answered only once."""
        return len({spec.name for spec in self.specs() if spec.tasks > self.converge_up_to})

    def rows(self, assignors: tuple[str, ...]) -> list[tuple[Spec, str]]:
        """Return instances × assignors, sorted by estimated time, the longest first; equal instances appear once."""
        unique = {spec.name: spec for spec in self.specs()}
        rows = [(spec, assignor) for spec in unique.values() for assignor in assignors]
        return sorted(rows, key=lambda row: (-estimate_seconds(row[0], row[1], self.converge_up_to), row[0].name, row[1]))


class HistorySweep(Frozen):
    """Random histories of one suite with consecutive seeds, under every assignor."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$", description="letters, digits, - _ and .")]
    histories: Literal["small", "large"]
    """The suite."""
    seed: Count = 1
    """The seed of the first history."""
    count: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    assignors: _list_of(NotEmpty) | None = None  # type: ignore[valid-type]
    limits: SweepLimits = SweepLimits(convergence_limit=600.0)

    def list_assignors(self, kafka: bool = False) -> tuple[str, ...]:
        """Return the assignors, as `Sweep.list_assignors` does."""
        return _list_assignors(self.assignors, kafka)

    def rows(self, assignors: tuple[str, ...]) -> list[tuple[HistorySpec, str]]:
        """Return histories × assignors in the order of seeds, so that an interrupted run has all assignors of its histories."""
        seeds = range(self.seed, self.seed + self.count)
        return [(HistorySpec(self.histories, seed), assignor) for seed in seeds for assignor in assignors]


def _list_assignors(chosen: tuple[str, ...] | None, kafka: bool) -> tuple[str, ...]:
    found = chosen if chosen is not None else list_names_without_jdk()
    return tuple(sorted({*found, *((name for name in list_names() if find_traits(name).needs_jdk) if kafka else ())}))


def _input_error(error: ValidationError, data: dict[str, Any], source: str, sweep: type[Frozen]) -> InputError:
    """Return the first error in terms of the file: the innermost place in the file, the value there, and the allowed values."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "unknown_field":
        place = ".".join(str(step) for step in (*first["loc"], first["ctx"]["name"]))
        model = SweepLimits if first["loc"] else sweep
        return InputError(source, place, "an unknown field", ", ".join(model.model_fields))
    place, value = "", cast("Any", data)
    for step in first["loc"]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    found = show_value(value) + (f" ({first['ctx']['error']})" if first["type"] == "value_error" else "")
    if first["type"] == "missing" and len(first["loc"]) == 1:
        place, found = str(first["loc"][0]), "nothing"
    field = ".".join(str(step) for step in first["loc"][: 2 if first["loc"][0] == "limits" else 1])
    allowed = _ALLOWED.get(field, f"a table of {', '.join(SweepLimits.model_fields)}")
    return InputError(source, place.removeprefix("."), found, allowed)


def estimate_seconds(spec: Spec | HistorySpec, assignor: str, converge_up_to: int = 0) -> float:
    """Return the approximate seconds of a row, for the order of rows and the number of rows per task."""
    if isinstance(spec, HistorySpec):
        return (0.1 if spec.suite == "small" else 20.0) * (1 + _RELATIVE_SECONDS.get(assignor, 1.0) / 4)
    answers = 1
    if spec.tasks <= converge_up_to:
        answers += min(40, 1 + spec.tasks // 4) if spec.given or spec.shape in ("scale-out", "partial") else 2
    copies = spec.tasks * (1 + spec.standbys) * (1 + spec.clients / 200)
    return 0.01 + answers * (0.005 + 6e-6 * copies * _RELATIVE_SECONDS.get(assignor, 1.0))


_PAPER: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart")
PRESETS = {
    sweep.name: sweep
    for sweep in (
        Sweep(
            name="smoke",
            shapes=("scale-out", "restart"),
            sizes=((20, 4), (100, 10)),
            seeds=(1, 2),
            converge_up_to=100,
            limits=SweepLimits(convergence_limit=30.0, answer_limit=30.0),
        ),
        Sweep(
            name="paper",
            shapes=_PAPER,
            sizes=((100, 10), (1_000, 100), (3_000, 300), (10_000, 1_000)),
            seeds=(1, 2, 3),
            converge_up_to=1_000,
        ),
        Sweep(
            name="wide",
            sizes=((50, 5), (100, 10), (300, 30), (1_000, 100), (1_000, 30)),
            standbys=(0, 1, 2),
            warmups=(2, "20%"),
            threads=(1, (1, 4)),
            seeds=(1, 2, 3),
            converge_up_to=100,
        ),
    )
}
"""`smoke` takes a minute; `paper` has every assignor at four sizes and takes five minutes on two cores; `wide` is for a
cluster."""


HISTORIES = HistorySweep(name="histories", histories="small")
"""The preset of random histories."""


def read_sweep(path: Path) -> Sweep | HistorySweep:
    """Return the sweep in a TOML file, a HistorySweep if it has the field `histories`. InputError for any error in the file."""
    data = read_toml(path)
    kind: type[Sweep | HistorySweep] = HistorySweep if "histories" in data else Sweep
    if kind is Sweep:
        _read_own(data, path)
    try:
        sweep = kind.model_validate(data)
    except ValidationError as error:
        raise _input_error(error, data, str(path), kind) from None
    for i, name in enumerate(sweep.assignors or ()):
        base, colon, variant = name.partition(":")
        if base not in list_names() or (colon and variant not in list_variants(base)):
            raise InputError(str(path), f"assignors[{i}]", repr(name), ", ".join(list_names()))
    return sweep


def _read_own(data: dict[str, Any], path: Path) -> None:
    """Replace the paths of snapshots by their contents, in place, and check the options. InputError for any error."""
    paths = data.get("snapshots", [])
    if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
        raise InputError(str(path), "snapshots", show_value(paths), _ALLOWED["snapshots"])
    if not paths and not data.get("sizes"):
        found = show_value(data["sizes"]) if "sizes" in data else "nothing"
        raise InputError(str(path), "sizes", found, f"{_ALLOWED['sizes']}; or snapshots")
    stems = [re.sub(r"\.json(\.gz)?$", "", Path(each).name) for each in paths]
    if len(set(stems)) < len(stems):
        raise InputError(str(path), "snapshots", "a name twice", "files of different names")
    if paths:
        texts = (_read_text(path.parent / each) for each in paths)
        data["snapshots"] = [{"name": stem, "content": text} for stem, text in zip(stems, texts, strict=True)]
    tables = data.get("options", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) and "name" in table for table in tables):
        raise InputError(str(path), "options", show_value(tables), "tables [[options]], each with a name and fields of options")
    named = []
    for number, table in enumerate(tables):
        changes = {name: value for name, value in table.items() if name != "name"}
        try:
            Options.model_validate(changes)
        except ValidationError as error:
            wrong = from_validation(error, changes, Options, str(path))
            raise InputError(str(path), f"options[{number}].{wrong.place}", wrong.found, wrong.allowed) from None
        named.append({"name": table["name"], "changes": changes})
    if len({each["name"] for each in named}) < len(named):
        raise InputError(str(path), "options", "a name twice", "each name once")
    if named:
        data["options"] = named


def _read_text(path: Path) -> str:
    return read_rebalance(path)[0].model_dump_json(exclude_defaults=True)


_BATCH_S = 10.0
"""The target duration of a task in seconds: long compared with Spark's overhead of 0.1 s, and short enough to be repeated."""
_TASKS_A_CORE = 4
"""The least number of tasks for each core, if there are enough rows, so that all cores end at about the same time."""


def make_batches(rows: Sequence[Row], converge_up_to: int, cores: int, slowness: float = 1.0) -> list[list[Row]]:
    """Return the rows, in their order, in batches of some ten estimated seconds each.

    slowness: factor on the estimated seconds of a row.
    """
    most = -(-len(rows) // (_TASKS_A_CORE * cores))
    batches: list[list[Row]] = []
    left = 0.0
    for row in rows:
        seconds = slowness * estimate_seconds(*row, converge_up_to)
        if not batches or seconds > left or len(batches[-1]) == most:
            batches.append([])
            left = _BATCH_S
        batches[-1].append(row)
        left -= seconds
    return batches
