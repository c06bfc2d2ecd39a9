"""`python -m optassign_benchmarks.policy`, or `make policy`: Python's and Java's constants, made from `policy.toml`.

With `--check` the command writes nothing, prints each outdated file, and exits with 1 if there is any. For a fault in
`policy.toml` it prints the place, the value found and the allowed values, and exits with 2.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PolicyError", "Section", "Tunable", "list_outputs", "read_policy"]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "optassign_models" / "policy"
JAVA = ROOT / "java"
_AMOUNTS = ("ms", "s", "share", "millionths", "times", "work", "rounds", "steps", "bytes")
_THINGS = ("answers", "clients", "copies", "entries", "offsets", "pairs")
UNITS = (*_AMOUNTS, *_THINGS, "seed", "tasks", "variables")
_LONG_UNITS = ("ms", "s", "pairs", "offsets", "seed")
"""The units whose whole numbers are a `long` in Java."""
LANGUAGES = ("python", "java")
PACKAGE = Path("src/main/java/io/github/optassign/policy")
_TEXTS = ("what", "why")
_GREATEST_INT = 2**31 - 1
_WIDTH = {"python": 128, "java": 120}
"""The width of a line: ruff's and palantir-java-format's."""


class PolicyError(ValueError):
    """`policy.toml` has a fault; the text says where, what was found and what is allowed."""


@dataclass(frozen=True)
class Tunable:
    """A number that steers behaviour."""

    name: str
    """The name of its constant, in lower case."""
    values: dict[str, int | float | list[int | float]]
    """Language → value, for the languages that use the number. Only Python has lists."""
    unit: str
    what: str
    why: str
    study: str
    """A study, the path of a decision, or "none"."""


@dataclass(frozen=True)
class Section:
    """The tunables of one concept; those that Java uses form one class there."""

    name: str
    about: str
    java: str | None
    java_module: str
    """The folder in java/ that the class belongs to."""
    tunables: tuple[Tunable, ...]


def read_policy(text: str) -> tuple[Section, ...]:
    """Return the sections of a `policy.toml`. PolicyError for a fault in it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"found no TOML ({error}); allowed: TOML") from None
    sections = tuple(_read_section(name, table) for name, table in data.items())
    owners: dict[str, str] = {}
    for section in sections:
        for tunable in section.tunables:
            if "python" in tunable.values:
                owner = owners.setdefault(tunable.name, section.name)
                if owner != section.name:
                    raise PolicyError(
                        f"{section.name}.{tunable.name}: found it in {owner} too; allowed: a name of its own in Python"
                    )
    return sections


def _read_section(name: str, table: Any) -> Section:
    if not isinstance(table, dict):
        raise PolicyError(f"{name}: found {table!r}; allowed: a table")
    own = {key: value for key, value in table.items() if not isinstance(value, dict)}
    _check_keys(name, own, required=("about",), optional=("unit", "study", "java", "java_module"))
    common = {key: own[key] for key in ("unit", "study") if key in own}
    tunables = [_read_tunable(f"{name}.{key}", common | value) for key, value in table.items() if isinstance(value, dict)]
    java = own.get("java")
    if java is None and any("java" in tunable.values for tunable in tunables):
        raise PolicyError(f"{name}.java: found nothing; allowed: the name of a class, as Java uses some of its tunables")
    module = own.get("java_module", "planner")
    return Section(name, _read_text(name, own, "about"), java, module, tuple(tunables))


def _read_tunable(place: str, table: dict[str, Any]) -> Tunable:
    _check_keys(place, table, required=("value", "unit", "study", *_TEXTS), optional=("used_by",))
    if table["unit"] not in UNITS:
        raise PolicyError(f"{place}.unit: found {table['unit']!r}; allowed: {', '.join(UNITS)}")
    used_by = table.get("used_by")
    if used_by not in (None, *LANGUAGES):
        raise PolicyError(f"{place}.used_by: found {used_by!r}; allowed: {', '.join(LANGUAGES)}, or nothing for both")
    value = table["value"]
    values = value if isinstance(value, dict) else dict.fromkeys(LANGUAGES if used_by is None else (used_by,), value)
    if isinstance(value, dict) and (used_by is not None or set(value) != set(LANGUAGES)):
        raise PolicyError(f"{place}.value: found one for {', '.join(value)}; allowed: one for python and java each")
    if "java" in values and isinstance(value, list):
        raise PolicyError(f"{place}.value: found a list; allowed: one number, as Java uses it")
    for number in value if isinstance(value, list) else values.values():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number) or number <= 0:
            raise PolicyError(f"{place}.value: found {number!r}; allowed: a number above 0")
        if table["unit"] == "ms" and not isinstance(number, int):
            raise PolicyError(f"{place}.value: found {number!r}; allowed: whole milliseconds")
        if table["unit"] == "share" and number > 1:
            raise PolicyError(f"{place}.value: found {number!r}; allowed: a share, at most 1")
    texts = {key: _read_text(place, table, key) for key in (*_TEXTS, "study")}
    return Tunable(place.partition(".")[2], values, table["unit"], **texts)


def _check_keys(place: str, table: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    missing = [key for key in required if key not in table]
    if missing:
        raise PolicyError(f"{place}: found no {missing[0]}; allowed: a table with {', '.join(required)}")
    unknown = [key for key in table if key not in (*required, *optional)]
    if unknown:
        raise PolicyError(f"{place}.{unknown[0]}: found it; allowed: {', '.join((*required, *optional))}")


def _read_text(place: str, table: dict[str, Any], key: str) -> str:
    text = table[key]
    if not isinstance(text, str) or not text.strip():
        raise PolicyError(f"{place}.{key}: found {text!r}; allowed: a text")
    return text


def list_outputs(text: str, python: Path, java: Path) -> dict[Path, str]:
    """Return file → text: a module in the folder `python`, classes in modules of `java`. PolicyError as for `read_policy`."""
    sections = read_policy(text)
    outputs = {python / "constants.py": _write_module(sections)}
    for section in sections:
        if section.java is not None:
            outputs[java / section.java_module / PACKAGE / f"{section.java}.java"] = _write_class(section, section.java)
    return outputs


def _write_module(sections: tuple[Section, ...]) -> str:
    lines = ['"""The constants of Python, made from policy.toml by `make policy`."""', ""]
    for section in sections:
        tunables = [tunable for tunable in section.tunables if "python" in tunable.values]
        lines += ["", *_write_comment(section.about), ""] if tunables else []
        for tunable in tunables:
            lines.append(f"{tunable.name.upper()} = {_write_number(tunable.values['python'])}")
            lines += _wrap(f'"""{tunable.what} {tunable.why} [{tunable.unit}]"""', "python")
    return "\n".join(lines) + "\n"


def _write_comment(text: str) -> list[str]:
    return [f"# {line}" for line in _wrap(text, "python", _WIDTH["python"] - 2)]


def _write_class(section: Section, name: str) -> str:
    about = section.about.replace("&", "&amp;").replace("<", "&lt;")
    lines = ["package io.github.optassign.policy;", "", *_write_javadoc(about, "")]
    lines.append(f"public final class {name} {{")
    for tunable in section.tunables:
        if "java" in tunable.values:
            value = tunable.values["java"]
            kind = "double" if isinstance(value, float) else "long" if tunable.unit in _LONG_UNITS else "int"
            lines += _write_javadoc(f"{tunable.what} [{tunable.unit}]", "    ")
            suffix = "L" if isinstance(value, int) and value > _GREATEST_INT else ""
            lines.append(f"    public static final {kind} {tunable.name.upper()} = {_write_number(value)}{suffix};")
    return "\n".join([*lines, "", f"    private {name}() {{}}", "}", ""])


def _write_javadoc(text: str, indent: str) -> list[str]:
    if len(indent) + len(f"/** {text} */") <= _WIDTH["java"]:
        return [f"{indent}/** {text} */"]
    width = _WIDTH["java"] - len(indent) - 3
    return [f"{indent}/**", *(f"{indent} * {line}" for line in _wrap(text, "java", width)), f"{indent} */"]


def _wrap(text: str, language: str, width: int | None = None) -> list[str]:
    return textwrap.wrap(text, width or _WIDTH[language], break_long_words=False, break_on_hyphens=False)


def _write_number(value: float | list[int | float]) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_write_number, value))},)" if len(value) == 1 else f"({', '.join(map(_write_number, value))})"
    return f"{value:_}" if isinstance(value, int) else repr(value)


def main() -> int:
    """Write the outdated files, or print their paths with --check; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks.policy", description="Constants made of policy.toml.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if something is not fresh")
    check = parser.parse_args().check
    try:
        outputs = list_outputs((FOLDER / "policy.toml").read_text(encoding="utf-8"), FOLDER, JAVA)
    except PolicyError as error:
        print(f"policy.toml: {error}", file=sys.stderr)
        return 2
    stale = {path: text for path, text in outputs.items() if not path.exists() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if check:
            print(f"{path}: is not what policy.toml says; run `make policy`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
