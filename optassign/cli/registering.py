"""--register: assignors that are not optassign's own, by the place of their class."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from optassign.cli.errors import UsageError

__all__ = ["add_register", "register_assignors", "register_listed_assignors"]

_ALLOWED = "[NAME=]MODULE:CLASS"


def add_register(parser: ArgumentParser, where: str = "") -> None:
    """Add --register. `where`: places of a module besides this folder and the path of Python."""
    parser.add_argument(
        "--register",
        action="append",
        default=[],
        metavar=_ALLOWED,
        help=f"add an assignor of your own (repeatable), from a module in this folder or on PYTHONPATH{where}; "
        "without NAME it goes by its attribute `name`, or by its class",
    )


def register_listed_assignors(arguments: Namespace, *, elsewhere: bool = False) -> tuple[tuple[str, str], ...]:
    """Register the assignors of --register and return their (name, "module:class"). UsageError for what cannot be one.

    `elsewhere`: they run in other processes, so that a module need not be importable here where NAME is given.
    """
    pairs = [_parse(text, elsewhere) for text in arguments.register]
    register_assignors(pairs)
    return tuple(pairs)


def register_assignors(pairs: Iterable[tuple[str, str]]) -> None:
    """Register (name, "module:class") each. UsageError for a name that is taken."""
    from optassign.assignor import names, register

    for name, target in pairs:
        if name in names():
            raise UsageError(f"--register: found {name!r}, which there is already; allowed: a name of its own")
        register(name, target)


def _parse(text: str, elsewhere: bool) -> tuple[str, str]:
    """Name and place of an assignor; its class is loaded, unless it has a name and runs elsewhere."""
    from optassign.assignor import AssignorError, load_factory

    name, equals, target = text.rpartition("=")
    module, _, attribute = target.partition(":")
    if not module or not attribute or ":" in attribute or ":" in name or (equals and not name):
        raise UsageError(f"--register: found {text!r}; allowed: {_ALLOWED}")
    if name and elsewhere:
        return name, target
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # last: a file here must not take the place of a library
    try:
        factory = load_factory(target)
    except AssignorError as error:
        raise UsageError(f"--register: found that {error}; allowed: {_ALLOWED}") from None
    called = name or getattr(factory, "name", None) or getattr(factory, "__name__", attribute)
    if not isinstance(called, str) or ":" in called:
        raise UsageError(f"--register: found {text!r}, whose attribute `name` is {called!r}; allowed: a name without a colon")
    return called, target
