"""Tests that documents, docstrings, help texts and log lines are plain, each kind within its limits."""

from __future__ import annotations

import argparse
import ast
import json
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from prose import is_dialect, measure, split_sentences

from optassign.cli.parser import make_parser
from optassign.service.logs import TEXTS

ROOT = Path(__file__).resolve().parents[2]
_MADE = ("schema", "data", "generated", "site", "monitoring")
"""Folders in docs/ whose pages are generated."""


class Limits(NamedTuple):
    """The maximum percentages of sentences."""

    dialect: float
    long: float
    """Sentences of more than 25 words."""
    very_long: float
    """Sentences of more than 30 words."""


LIMITS = {
    "documents": Limits(2, 5, 2),
    "studies": Limits(2, 12, 6),
    "docstrings of optassign": Limits(1, 3, 2),
    "docstrings of models": Limits(1, 7, 4),
    "docstrings of benchmarks": Limits(1, 3, 2),
    "comments of Python": Limits(1, 5, 2),
    "help texts": Limits(1, 3, 1),
    "log events and messages": Limits(2, 3, 2),
    "comments of Java": Limits(1, 7, 4),
}
"""The present values, rounded up; a limit may only decrease."""
EXCEPTIONS = {
    "who/what/where/of": "the style itself names the openings that it forbids",
}
"""Words of allowed sentences → the reason."""
MOST_WORDS = {"README.md": 1000, "CONTRIBUTING.md": 900, "all documents": 40_000}


def documents() -> dict[str, str]:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    written = [file for file in files if not set(_MADE) & set(file.relative_to(ROOT).parts)]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in written}


def studies() -> Iterator[str]:
    for file in sorted((ROOT / "docs" / "data").glob("*.json")):
        yield json.loads(file.read_text(encoding="utf-8"))["about"]


def docstrings(folder: str) -> Iterator[str]:
    """Yield docstrings, and the texts under attributes and constants."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                yield node.value.value


def comments() -> Iterator[str]:
    """Yield comments in the code; comments on consecutive lines are one text."""
    for file in sorted(file for folder in ("optassign", "models", "benchmarks") for file in (ROOT / folder).rglob("*.py")):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        texts: list[str] = []
        last = -1
        for token in tokenize.generate_tokens(iter(lines).__next__):
            if token.type == tokenize.COMMENT:
                text = token.string.lstrip("# ")
                if token.start[0] == last + 1 and token.line.lstrip().startswith("#"):
                    texts[-1] += " " + text
                else:
                    texts.append(text)
                last = token.start[0]
        yield from texts


def help_texts(parser: argparse.ArgumentParser | None = None) -> Iterator[str]:
    parser = parser or make_parser()
    yield from filter(None, (parser.description, parser.epilog))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for command in action.choices.values():
                yield from help_texts(command)
        elif action.help and action.help != argparse.SUPPRESS:
            yield action.help


def log_messages() -> Iterator[str]:
    """Yield the service's sentences for events, and the texts in logging calls of service and JVM."""
    yield from (text for text in TEXTS.values() if isinstance(text, str))
    for file in sorted((ROOT / "optassign" / "service").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "log_event":
                texts = [found for found in ast.walk(node) if isinstance(found, ast.Constant) and isinstance(found.value, str)]
                yield from (str(found.value) for found in texts)
    for file in sorted((ROOT / "java").glob("*/src/main/java/**/*.java")):
        for call in re.findall(
            r"\b(?:LOG|log)\w*\s*\.(?:info|warn|error)\((.*?)\);", file.read_text(encoding="utf-8"), re.DOTALL
        ):
            yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call))


def java_comments() -> Iterator[str]:
    for file in sorted((ROOT / "java").glob("*/src/main/java/**/*.java")):
        for comment in re.findall(r"/\*\*(.*?)\*/", file.read_text(encoding="utf-8"), re.DOTALL):
            text = re.sub(r"\{@\w+ ([^}]*)\}", r"`\1`", re.sub(r"^\s*\* ?", "", comment, flags=re.MULTILINE))
            yield re.sub(r"^\s*@\w+ (\w+)?", "\n\n", text, flags=re.MULTILINE)


KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "documents": lambda: iter(documents().values()),
    "studies": studies,
    "docstrings of optassign": lambda: docstrings("optassign"),
    "docstrings of models": lambda: docstrings("models"),
    "docstrings of benchmarks": lambda: docstrings("benchmarks"),
    "comments of Python": comments,
    "help texts": lambda: help_texts(),
    "log events and messages": log_messages,
    "comments of Java": java_comments,
}


@pytest.mark.parametrize("kind", LIMITS)
def test_texts_are_plain(kind: str) -> None:
    texts = list(KINDS[kind]())
    style, limits = measure(texts, EXCEPTIONS), LIMITS[kind]
    assert style.sentences > 5
    worst = [sentence for text in texts for sentence in split_sentences(text) if is_dialect(sentence)][:20]
    found = Limits(style.dialect, style.long, style.very_long)
    assert all(a <= b for a, b in zip(found, limits, strict=True)), f"found {found}; allowed: {limits}; such as {worst}"


def test_documents_are_short() -> None:
    words = {name: len(text.split()) for name, text in documents().items()}
    words["all documents"] = sum(words.values())
    assert {name: words[name] for name, most in MOST_WORDS.items() if words[name] > most} == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "What is not allowed is taken for the default.",
        "Where nobody waits it ends at once.",
        "Of two equal plans the first is taken.",
        "The planner shall keep the rules of the group.",
        "Everything else stays as it was before.",
    ],
)
def test_dialect_is_found(sentence: str) -> None:
    assert is_dialect(sentence)


def test_plain_sentences_and_questions_are_no_dialect() -> None:
    assert not is_dialect("The planner keeps the previous assignment.")
    assert not is_dialect("What happens when the service is away?")
    text = "# Where it is\n\nThe `what else` is code. | x |\n\n| Of a | table |\n"
    assert [is_dialect(sentence) for sentence in split_sentences(text)] == [False]


def test_long_sentences_are_counted() -> None:
    assert measure(["word " * 26, "word " * 31, "word " * 25]).long == pytest.approx(200 / 3)
    assert measure(["word " * 26, "word " * 31, "word " * 25]).very_long == pytest.approx(100 / 3)
