"""Tables of the reference, read from the code that they describe: commands, the plug-in's keys, metrics.

`make tables` writes each table to a page in docs/reference/generated. tests/project/test_reference.py checks that the
committed pages are current.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from optassign.cli.parser import make_parser
from optassign.service.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
JAVA = ROOT / "java"
GENERATED = ROOT / "docs" / "reference" / "generated"
_STRING = r'"((?:[^"\\]|\\.)*)"'


def make_page(name: str) -> str:
    """Return the page of a table as Markdown.

    Raises:
        KeyError: no table has the name.
    """
    title, make = MADE[name]
    return f"# {title}\n\n{make()}\n"


def list_commands() -> str:
    """Return all commands of `optassign`, each with its usage and a table of its options."""
    parser = make_parser()
    parts = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {choice.dest: choice.help or "" for choice in action._choices_actions}
            parts += [_describe_command(name, command, about.get(name, "")) for name, command in action.choices.items()]
    return "\n\n".join(parts)


def _describe_command(name: str, parser: argparse.ArgumentParser, about: str) -> str:
    """Return the description of a command, with a part for each of its subcommands."""
    text = [f"## `optassign {name}`", about or parser.description or ""]
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            text += [_describe_command(f"{name} {key}", sub, helps.get(key, "")) for key, sub in action.choices.items()]
        elif action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            rows.append((_write_option(action), _expand_help(action)))
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    text.insert(2, f"```\n{usage}\n```")
    if rows:
        text.insert(3, _write_table(("option", "meaning"), rows))
    return "\n\n".join(part for part in text if part)


def _write_option(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    metavar = action.metavar if isinstance(action.metavar, str) else None
    value = "" if action.nargs == 0 else f" {metavar or ','.join(map(str, action.choices or ())) or action.dest.upper()}"
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def _expand_help(action: argparse.Action) -> str:
    values = {**vars(action), "prog": "optassign"}
    if action.choices is not None:
        values["choices"] = ", ".join(map(str, action.choices))
    return (action.help or "") % values


def list_plugin_keys() -> str:
    """Return the keys of the plug-in's ConfigDef, with their defaults and documentation."""
    folder = JAVA / "plugin" / "src" / "main" / "java" / "io" / "github" / "optassign" / "config"
    text = (folder / "ConfigKeys.java").read_text(encoding="utf-8")
    constants = _read_constants()
    rows = []
    for block in text.split(".define(")[1:]:
        parts = _split_arguments(block)
        key, kind, default = (_evaluate(part.removeprefix("(int) "), constants) for part in parts[:3])
        about = _evaluate(parts[-1], constants)
        shown = "" if default in ("null", "") else f"`{default}`"
        rows.append((f"`{key}`", kind.removeprefix("Type.").lower(), shown, about))
    return _write_table(("key", "type", "default", "meaning"), rows)


def _read_constants() -> dict[str, str]:
    """Return string and number constants of all Java sources, by class and name; those of ConfigKeys also by name."""
    found: dict[str, str] = {}
    for _ in range(2):  # a constant may contain others
        for file in sorted(JAVA.glob("*/src/main/java/**/*.java")):
            pattern = r"static final (?:String|int|long) (\w+) =\s*((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*);"
            for name, expression in re.findall(pattern, file.read_text(encoding="utf-8")):
                own = {key.removeprefix(f"{file.stem}."): value for key, value in found.items()}
                value = re.sub(r"^([\d_]+)L?$", lambda number: number[1].replace("_", ""), _evaluate(expression, own))
                found[f"{file.stem}.{name}"] = value
    return {
        **found,
        **{key.removeprefix("ConfigKeys."): value for key, value in found.items() if key.startswith("ConfigKeys.")},
    }


def _read_java(name: str) -> str:
    (file,) = JAVA.glob(f"*/src/main/java/**/{name}.java")
    return file.read_text(encoding="utf-8")


def _split_arguments(text: str) -> list[str]:
    """Return the arguments of a call, from after the opening bracket to the closing one."""
    parts: list[str] = []
    depth, inside, start = 0, False, 0
    for place, char in enumerate(text):
        if char == '"' and text[place - 1] != "\\":
            inside = not inside
        elif not inside and char in "([{":
            depth += 1
        elif not inside and char in ")]}":
            depth -= 1
            if depth < 0:
                return [*parts, text[start:place].strip()]
        elif not inside and char == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    raise ValueError("no closing bracket")


def _evaluate(expression: str, constants: dict[str, str]) -> str:
    """Return a sum of strings and constants as text, and any other expression unchanged."""
    terms = re.findall(rf"{_STRING}|([\w.]+)", expression)
    return "".join(string if not name else constants.get(name, name) for string, name in terms)


def list_service_metrics() -> str:
    """Return the metrics of the service: those of its registry, and gauges that the server adds."""
    metrics = Metrics("0", 1)
    metrics.show_expiry({})
    registry = metrics._registry
    rows = []
    for family in registry.collect():
        if family.name.startswith("optassign"):
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            labels = sorted(_list_labels(metrics, family.name))
            rows.append(
                (f"`{family.name}{suffix}{'{' + ','.join(labels) + '}' if labels else ''}`", family.type, family.documentation)
            )
    kinds = {"add": ("gauge", ""), "count": ("counter", "_total")}
    source = ast.parse((ROOT / "optassign" / "service" / "server.py").read_text(encoding="utf-8"))
    for node in ast.walk(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
            name, about = (ast.literal_eval(argument) for argument in node.args[:2])
            kind, suffix = kinds[node.func.id]
            rows.append((f"`optassign_{name}{suffix}`", kind, about))
    return _write_table(("metric", "type", "meaning"), sorted(rows))


def _list_labels(metrics: Metrics, name: str) -> Sequence[str]:
    registry = metrics._registry
    collector = registry._names_to_collectors.get(name) or registry._names_to_collectors.get(f"{name}_total")
    return getattr(collector, "_labelnames", ())


def list_watch_metrics() -> str:
    """Return the metrics of `optassign watch`."""
    found = re.findall(r'entry\("(optassign_watch_\w+)", "(\w+) ((?:[^"\\]|\\.)*)"\)', _read_java("Metrics"))
    return _write_table(("metric", "type", "meaning"), [(f"`{name}`", kind, about) for name, kind, about in found])


def list_versions() -> str:
    """Return the table of functions that work with each version of Kafka Streams, by the results of tests."""
    found = json.loads((ROOT / "tests" / "java" / "compatibility.json").read_text(encoding="utf-8"))["kafka_streams"]
    head = ("Kafka Streams", "links", "Java", "planner", "service", "shadow mode")
    return _write_table(
        head,
        (
            (
                version,
                _say(row["links"] and row["shadow_mode_links"]),
                ", ".join(row["java"]),
                *(_say(mode in row["modes"]) for mode in ("planner", "service", "shadow")),
            )
            for version, row in found.items()
        ),
    )


def list_brokers() -> str:
    """Return the table of brokers on which tests have run an application, with the versions of Kafka Streams."""
    found = json.loads((ROOT / "tests" / "java" / "compatibility.json").read_text(encoding="utf-8"))["brokers"]
    return _write_table(("broker", "Kafka Streams, with the plug-in"), ((name, ", ".join(found[name])) for name in found))


def _say(works: bool) -> str:
    return "works" if works else "no"


def list_log_events() -> set[str]:
    """Return the names of all events that the service logs."""
    found = set()
    for file in (ROOT / "optassign" / "service").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "log_event":
                found.add(ast.literal_eval(node.args[0]))
    return found


def _write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(head), *(" | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) for row in rows)]
    first, *others = (f"| {line} |" for line in lines)
    return "\n".join([first, "|" + "---|" * len(head), *others])


MADE: dict[str, tuple[str, Callable[[], str]]] = {
    "commands": ("Commands and their options", list_commands),
    "plugin-keys": ("Keys of the plug-in", list_plugin_keys),
    "service-metrics": ("Metrics of the service", list_service_metrics),
    "brokers": ("Brokers that were tried", list_brokers),
    "versions": ("Lines of Kafka Streams that were tried", list_versions),
    "watch-metrics": ("Metrics of the watcher", list_watch_metrics),
}
"""Page → its title, and the function that makes its table."""


def main() -> None:
    """Write the pages that have changed."""
    for name in MADE:
        page, text = GENERATED / f"{name}.md", make_page(name)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
