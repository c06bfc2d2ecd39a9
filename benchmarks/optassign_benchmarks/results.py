"""The results of studies: tables, and files in docs/data, which the site, the tests and the README's figures read.

A file has the command, date and environment of a run, and its tables. `title` and `about` are written by hand and stay when a
study runs again. A file also has the digest of answers.txt in this folder at its run. renewals.json lists the changes of
answers.txt by digest, each with the studies whose figures it can alter. Thus a study's page can mark outdated figures.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from optassign_benchmarks.dependencies import digest_sources

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """One table of a study."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    """Common facts of all rows, such as their size; empty if the study's title has them."""

    def to_markdown(self) -> str:
        """Return the caption, if any, and the rows as Markdown, with the names that documents use."""
        rows = [tuple(_NAMES.get(cell, cell) if isinstance(cell, str) else cell for cell in row) for row in self.rows]
        text = to_markdown([_name_column(column) for column in self.columns], rows)
        return f"{self.caption}\n\n{text}" if self.caption else text


_NAMES = {"high-availability": "Kafka's default", "kafka-high-availability": "Kafka's default, its own class"}
"""Assignors that have other names in documents than in commands."""
_INSTANCES = re.compile(r"\bclient(s?)\b")


def _name_column(column: str) -> str:
    """Return the heading of a column in documents, where clients are called instances."""
    for name in sorted(_NAMES, key=len, reverse=True):
        column = column.replace(name, _NAMES[name])
    return _INSTANCES.sub(r"instance\1", column)


def make_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> Table:
    """Return a table whose cells are numbers or text; truth values become "yes" and "no"."""
    return Table(tuple(head), tuple(tuple(_to_cell(cell) for cell in row) for row in rows), caption)


def to_markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; floats have three digits after the point, integers thousands separators."""
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines.extend(" | ".join(format_cell(cell) for cell in row) for row in rows)
    return "\n".join(f"| {line} |" for line in lines)


def format_cell(cell: object) -> str:
    """Return the text of one cell, as pages and terminals show it."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def describe_machine() -> str:
    """Return versions, system, cores, and the load average of the last minute, in words.

    Call it before a study starts, so that the load is not the study's own.
    """
    return (
        f"Python {platform.python_version()}, ortools {version('ortools')}, numpy {version('numpy')}, "
        f"{platform.system()} {platform.machine()}, {_describe_cores()}, {_describe_load()}"
    )


def _describe_cores() -> str:
    """Return the number of cores that this process may use, and of all cores if there are more."""
    present = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present  # Linux only
    counted = f"{usable}" if usable == present else f"{usable} of {present}"
    return f"{counted} core{'' if present == 1 else 's'}"


def _describe_load() -> str:
    try:
        return f"load {os.getloadavg()[0]:.1f} at the start"
    except OSError:  # the system does not provide it
        return "load not known"


def replace_table(name: str, text: str, document: Path) -> None:
    """Replace the text between `<!-- name -->` and `<!-- /name -->`. ValueError if the marks are missing."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{document}: no place marked {name!r}")
    document.write_text(pattern.sub(lambda m: f"{m[1]}{text}\n{m[2]}", old), encoding="utf-8")


def _to_cell(cell: object) -> Cell:
    """Return a truth value as its text, an integer as it is, a float rounded to three decimals, and any other value as text."""
    if isinstance(cell, bool):
        return format_cell(cell)
    if isinstance(cell, int):
        return int(cell)
    return round(float(cell), 3) if isinstance(cell, float) else str(cell)


FOLDER = Path("docs/data")
"""The folder of studies, relative to the top of the repository."""
ANSWERS = Path("benchmarks/optassign_benchmarks/answers.txt")
RENEWALS = Path("benchmarks/optassign_benchmarks/renewals.json")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredTable(_Strict):
    """One table; the file has a line for each row."""

    caption: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class StoredStudy(_Strict):
    """The last results of a study."""

    title: str
    about: str
    """The measured quantities and the meaning of the columns, as Markdown; links start at docs/data."""
    command: str
    date: str
    """Day of the run, or of the commit that added its figures."""
    environment: str
    answers: str
    """Digest of benchmarks/optassign_benchmarks/answers.txt at the run; empty if the run is older than that file."""
    sources: dict[str, str] = {}
    """Sources that the figures depend on, in addition to the answers → digest at the run (`dependencies.digest_sources`)."""
    tables: tuple[StoredTable, ...]
    wrong: tuple[str, ...] = ()
    """Results that miss the study's demands, one line each."""

    def to_json(self) -> str:
        """Return the file's text, with a line for each row, so that differences are readable."""
        fields = self.model_dump(exclude={"tables"})
        wrong = fields.pop("wrong")
        lines = [f"  {_json(name)}: {_json(value)}" for name, value in fields.items()]
        lines.append(f'  "tables": [\n{_join(map(_table_to_json, self.tables), "    ")}\n  ]')
        lines.append(f'  "wrong": [\n{_join(map(_json, wrong), "    ")}\n  ]' if wrong else '  "wrong": []')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def to_page(self, older: Iterable[Renewal] = (), changed: Iterable[str] = ()) -> str:
        """Return the study's page as Markdown.

        Args:
            older: changes of the answers since the run.
            changed: other sources that have changed since the run (`dependencies.list_changed`).
        """
        parts = [f"# {self.title}", self.about, f"`{self.command}`, {self.date}. {self.environment}."]
        reasons = [f"- {renewal.date}: {renewal.what}" for renewal in older]
        if reasons:
            parts.append("These figures are older than changes of the answers that they measure:\n\n" + "\n".join(reasons))
        if changes := list(changed):
            parts.append(f"Measured on an earlier version of {' and '.join(changes)}.")
        parts += [Table(table.columns, table.rows, table.caption).to_markdown() for table in self.tables]
        if self.wrong:
            parts.append("Results that miss what the study demands:\n\n" + "\n".join(f"- {line}" for line in self.wrong))
        return "\n\n".join(part for part in parts if part) + "\n"


class Renewal(_Strict):
    """A change of benchmarks/optassign_benchmarks/answers.txt."""

    digest: str
    date: str
    what: str
    """The changed answers, and the reason."""
    touches: tuple[str, ...]
    """Studies whose figures the change can alter; `*` for all."""


def read_study(name: str, folder: Path = FOLDER) -> StoredStudy:
    """Return a study's results. pydantic's ValidationError for an invalid file."""
    return StoredStudy.model_validate_json((folder / f"{name}.json").read_text(encoding="utf-8"))


def read_studies(folder: Path = FOLDER) -> dict[str, StoredStudy]:
    """Return name → results, for all studies."""
    return {file.stem: read_study(file.stem, folder) for file in sorted(folder.glob("*.json"))}


def write_study(name: str, tables: Iterable[Table], wrong: Iterable[str], command: str, environment: str) -> None:
    """Write a study's new results; the texts written by hand stay. A new study's title is its name."""
    file = FOLDER / f"{name}.json"
    old = read_study(name) if file.exists() else None
    study = StoredStudy(
        title=old.title if old else name,
        about=old.about if old else "",
        command=command,
        date=date.today().isoformat(),
        environment=environment,
        answers=answers_digest(),
        sources=digest_sources(name),
        tables=tuple(StoredTable(caption=t.caption, columns=t.columns, rows=t.rows) for t in tables),
        wrong=tuple(wrong),
    )
    file.write_text(study.to_json(), encoding="utf-8")


def answers_digest(file: Path = ANSWERS) -> str:
    """Return the digest of benchmarks/optassign_benchmarks/answers.txt, as in data files."""
    return sha256(file.read_bytes()).hexdigest()[:12]


def read_renewals(file: Path = RENEWALS) -> list[Renewal]:
    """Return all changes of the answers, oldest first."""
    return [Renewal.model_validate(row) for row in json.loads(file.read_text(encoding="utf-8"))]


def add_renewal(what: str, touches: Iterable[str], file: Path = RENEWALS) -> None:
    """Append a change of benchmarks/optassign_benchmarks/answers.txt, which must be written already."""
    renewals = read_renewals(file)
    new = Renewal(digest=answers_digest(), date=date.today().isoformat(), what=what, touches=tuple(touches))
    kept = [renewal for renewal in renewals if renewal.digest != new.digest]
    file.write_text(f"[\n{_join((_json(r.model_dump()) for r in (*kept, new)), '  ')}\n]\n", encoding="utf-8")


def list_older_than(name: str, study: StoredStudy, renewals: list[Renewal]) -> list[Renewal]:
    """Return the changes of answers that can alter a study's figures since its run, or ever if the run's digest is unknown."""
    digests = [renewal.digest for renewal in renewals]
    start = digests.index(study.answers) + 1 if study.answers in digests else 0
    return [renewal for renewal in renewals[start:] if {name, "*"} & set(renewal.touches)]


def _table_to_json(table: StoredTable) -> str:
    head = f'{{"caption": {_json(table.caption)},\n     "columns": {_json(table.columns)},\n     "rows": ['
    return f"{head}\n{_join(map(_json, table.rows), '       ')}\n     ]}}"


def _join(lines: Iterable[str], indent: str) -> str:
    return ",\n".join(f"{indent}{line}" for line in lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
