"""A run: its request, in a file next to its results, so that it can be continued and told from other runs.

    FOLDER/runs/RUN.json                        what is to be done
    FOLDER/table=results/run=RUN/*.parquet      rows of a sweep
    FOLDER/table=histories/run=RUN/*.parquet    rows of a sweep of random histories
    FOLDER/table=replays/run=RUN/*.parquet      rows of a replay; `convergences` and `errors` next to them
    FOLDER/report-RUN.html, .md                 the report

A run's id is its name and a hash of all that can change its results: the same run twice is one run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Literal

import optassign
from optassign.formats.parsing.input_errors import InputError
from optassign_benchmarks.spark.presets import HistorySweep, Sweep
from optassign_benchmarks.spark.solving.jobs import Limits
from optassign_benchmarks.spark.storage import Storage

__all__ = ["Run", "find_run", "list_runs"]

Kind = Literal["sweep", "replay"]
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Run:
    """All that decides the rows of a run, apart from times."""

    kind: Kind
    name: str
    assignors: tuple[str, ...]
    limits: Limits
    sweep: Sweep | HistorySweep | None = None
    recordings: str = ""
    """The folder of a replay, with the file system's scheme."""
    scale: int = 1
    converge: bool = False
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:attribute") of assignors that are not optassign's own."""
    optassign: str = optassign.__version__
    solver: str = f"ortools {version('ortools')}"

    @property
    def id(self) -> str:
        """The name of the run and a hash of all other settings."""
        return f"{self.name}-{sha256(self._text().encode()).hexdigest()[:8]}"

    def save(self, storage: Storage) -> None:
        """Write the file of the run into the folder of all runs."""
        storage.write(self._text(), "runs", f"{self.id}.json")

    def exists(self, storage: Storage) -> bool:
        """Whether the folder of all runs has this run."""
        return storage.exists("runs", f"{self.id}.json")

    def shared_columns(self) -> dict[str, Any]:
        """The columns that are the same in all rows: versions and limits."""
        return {"solver": self.solver, "optassign": self.optassign, **asdict(self.limits)}

    def _text(self) -> str:
        data = {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("sweep", "limits")},
            "sweep": None if self.sweep is None else self.sweep.model_dump(mode="json"),
            "limits": asdict(self.limits),
        }
        return json.dumps(data, indent=2, sort_keys=True) + "\n"

    @classmethod
    def load(cls, storage: Storage, run: str) -> Run:
        """Read the file of a run. InputError if another version of optassign wrote it, or if it is no such file."""
        source = storage.under("runs", f"{run}.json")
        try:
            data: dict[str, Any] = json.loads(storage.read("runs", f"{run}.json"))
            if data.pop("format") != _FORMAT:
                raise ValueError("another format")
            loaded = cls(
                **{
                    **data,
                    "assignors": tuple(data["assignors"]),
                    "registered": tuple((name, target) for name, target in data["registered"]),
                    "limits": Limits(**data["limits"]),
                    "sweep": _load_sweep(data["sweep"]),
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(source, "", f"that it cannot be understood ({error})", "the file of a run") from None
        return loaded


def _load_sweep(data: dict[str, Any] | None) -> Sweep | HistorySweep | None:
    if data is None:
        return None
    return (HistorySweep if "histories" in data else Sweep).model_validate(data)


def list_runs(storage: Storage) -> list[str]:
    """The ids of all runs in the folder, sorted."""
    return [name.removesuffix(".json") for name in storage.names("runs") if name.endswith(".json") and name[0] != "."]


def find_run(storage: Storage, wanted: str | None) -> Run:
    """The run of that id (or of a unique beginning of it); by default the only one. InputError, listing what there is."""
    found = list_runs(storage)
    chosen = [run for run in found if run.startswith(wanted or "")]
    if wanted in found:
        chosen = [wanted] if wanted else chosen
    if len(chosen) != 1:
        what = "no run" if not found else f"{len(chosen)} runs" if wanted is None else f"{len(chosen)} runs of {wanted!r}"
        allowed = (
            _describe_choice(found) if found else "a folder that `optassign benchmark run` or `optassign replay` has written"
        )
        raise InputError(storage.folder, "", what, allowed)
    return Run.load(storage, chosen[0])


def _describe_choice(found: Sequence[str]) -> str:
    return f"--run with one of {', '.join(found)}"
