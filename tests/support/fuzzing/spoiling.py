"""Random groups, and changes that spoil well-formed documents in one or several places."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

from optassign import assign
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.generating.snapshots import Shape

KNOWN = 300
"""Number of groups that are made once, for cases in which the fault matters more than the group."""
_NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, -2, -3, 1.5, 1e308, 1e999, 2**31, 2**63 - 1, 2**63, 10**400, "", "0_0", "0_00", "9_9", "a__0_1",
    "\u2028", "\u202e", "\x85", "\ud800", "\x00", "x" * 3000, [], {}, [[]], {"": 0}, [0, 0], ["0_0", "0_0"], {"0_0": -1},
)  # fmt: skip
_BYTES = (
    *(b"", b"", b"\x00", b"\xff", b'"', b"{", b"}", b",", b"[" * 2000, b"9" * 5000, b"\\ud800"),
    *(b"\xe2\x80\xa8", b"\xc2\x85"),
)
"""The last two are U+2028 and U+0085."""
_SHAPES: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart", "partial")


def make_state(random: Random, most_tasks: int = 30) -> ApplicationState:
    """Return a small group of a random shape."""
    return generate(
        random.choice(_SHAPES),
        random.randint(2, most_tasks),
        random.randint(2, 6),
        random.randint(0, 2),
        seed=random.getrandbits(30),
        unlogged=random.choice((0.0, 0.3)),
        unknown=random.choice((0.0, 0.2)),
        racks=random.choice((0, 3)),
        memory=random.random() < 0.3,
        consumers=random.random() < 0.3,
    )


@cache
def make_known_state(number: int) -> ApplicationState:
    """Return a group of up to 12 tasks, the same for each number."""
    return make_state(Random(number), 12)


@cache
def dump_known_state(number: int) -> str:
    """Return the known group as JSON."""
    return make_known_state(number).model_dump_json()


@cache
def dump_known_answer(number: int) -> str:
    """Return greedy's answer to the known group as JSON."""
    return assign(make_known_state(number), "greedy").model_dump_json()


def _walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) of every nested value."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _walk(value[key])


def spoil(random: Random, text: str) -> bytes:
    """Return a JSON document with random faults, or none: first in fields, then in bytes."""
    changes = random.choice((0, 1, 1, 1, 2, 5))
    if changes:
        data = json.loads(text)
        for _ in range(changes):
            if not data:
                break
            _change_one(random, data)
        text = json.dumps(data, ensure_ascii=random.random() < 0.5)
    return spoil_bytes(random, text.encode("utf-8", "surrogatepass"), random.choice((0, 0, 0, 1, 3)))


def spoil_bytes(random: Random, content: bytes, changes: int) -> bytes:
    """Return the content with some bytes removed or replaced."""
    for _ in range(changes):
        at, width = random.randrange(len(content) + 1), random.randrange(4)
        content = content[:at] + random.choice(_BYTES) + content[at + width :]
    return content


def _change_one(random: Random, data: Any) -> None:
    places = list(_walk(data))
    holder, key = random.choice(places)
    match random.randrange(5):
        case 0:
            holder[key] = deepcopy(random.choice(_NASTY))
        case 1:
            del holder[key]
        case 2 if isinstance(holder, list):
            holder.append(holder[key])
        case 3 if isinstance(holder, dict):
            holder[random.choice(("x_new", "new", "tasks", "\u2028", "id"))] = deepcopy(random.choice(_NASTY))
        case _:
            other, name = random.choice(places)
            holder[key] = json.loads(json.dumps(other[name]))
