"""The classes and members that a jar uses, and whether other jars have them: the linking of the JVM, without running it.

Source of the format: The Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_UTF8, _INTEGER, _FLOAT, _LONG, _DOUBLE, _CLASS, _STRING, _FIELD, _METHOD, _INTERFACE_METHOD = 1, 3, 4, 5, 6, 7, 8, 9, 10, 11
_SIZES = {_INTEGER: 4, _FLOAT: 4, _LONG: 8, _DOUBLE: 8, _CLASS: 2, _STRING: 2, _FIELD: 4, _METHOD: 4, _INTERFACE_METHOD: 4}
_SIZES |= {12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_ENTRIES = (_LONG, _DOUBLE)


@dataclass(frozen=True)
class Member:
    """A use of a field or method, or of a class alone."""

    owner: str
    """The class, with slashes, such as org/apache/kafka/streams/KafkaStreams."""
    name: str
    """Empty for the class itself."""
    descriptor: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}{self.descriptor}" if self.name else self.owner


@dataclass(frozen=True)
class ClassFile:
    """The parts of a class that linking needs."""

    name: str
    parents: tuple[str, ...]
    """Its superclass and interfaces."""
    members: frozenset[tuple[str, str]]
    """(name, descriptor) of its own fields and methods."""
    uses: frozenset[Member]


def parse_class(data: bytes) -> ClassFile:
    """Return the class in these bytes."""
    pool, at = _parse_pool(data)
    _, this, parent, count = struct.unpack_from(">4H", data, at)
    at += 8
    interfaces = struct.unpack_from(f">{count}H", data, at)
    at += 2 * count
    members = set()
    for _ in range(2):  # fields, then methods
        (number,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(number):
            _, name, descriptor, attributes = struct.unpack_from(">4H", data, at)
            members.add((_text(pool, name), _text(pool, descriptor)))
            at = _skip_attributes(data, at + 8, attributes)
    parents = tuple(_class_name(pool, index) for index in (parent, *interfaces) if index)
    return ClassFile(_class_name(pool, this), parents, frozenset(members), frozenset(_list_uses(pool)))


def read_jar(jar: Path) -> dict[str, ClassFile]:
    """Return name → class, for all classes of a jar except those of other Java versions."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith(".class") and not name.startswith("META-INF/")]
        return {found.name: found for name in names for found in [parse_class(archive.read(name))]}


def find_missing(using: Iterable[ClassFile], there: dict[str, ClassFile], prefix: str) -> dict[str, set[Member]]:
    """Return name of a using class → its uses of classes with this prefix that `there` lacks."""
    missing: dict[str, set[Member]] = {}
    for each in using:
        for use in each.uses:
            if use.owner.startswith(prefix) and not _is_there(use, there):
                missing.setdefault(each.name, set()).add(use)
    return missing


def _is_there(use: Member, there: dict[str, ClassFile]) -> bool:
    """Return whether the class or an ancestor has the member. Ancestors outside `there`, such as Java's own, may have it."""
    found = there.get(use.owner)
    if found is None:
        return False
    if not use.name or (use.name, use.descriptor) in found.members:
        return True
    known = [parent for parent in found.parents if parent in there]
    elsewhere = any(parent not in there and parent != "java/lang/Object" for parent in found.parents)
    return elsewhere or any(_is_there(Member(parent, use.name, use.descriptor), there) for parent in known)


def _parse_pool(data: bytes) -> tuple[dict[int, tuple[int, bytes]], int]:
    """Return index → (kind, content) of the constant pool, and the position after it."""
    (count,) = struct.unpack_from(">H", data, 8)
    pool: dict[int, tuple[int, bytes]] = {}
    at, index = 10, 1
    while index < count:
        kind = data[at]
        size = struct.unpack_from(">H", data, at + 1)[0] if kind == _UTF8 else _SIZES[kind]
        begin = at + 3 if kind == _UTF8 else at + 1
        pool[index] = (kind, data[begin : begin + size])
        at = begin + size
        index += 2 if kind in _TWO_ENTRIES else 1
    return pool, at


def _list_uses(pool: dict[int, tuple[int, bytes]]) -> Iterator[Member]:
    for kind, content in pool.values():
        if kind == _CLASS:
            name = _text(pool, struct.unpack(">H", content)[0]).lstrip("[")
            yield Member(name.removeprefix("L").removesuffix(";") if name.endswith(";") else name, "", "")
        elif kind in (_FIELD, _METHOD, _INTERFACE_METHOD):
            owner, both = struct.unpack(">2H", content)
            name, descriptor = struct.unpack(">2H", pool[both][1])
            yield Member(_class_name(pool, owner), _text(pool, name), _text(pool, descriptor))


def _text(pool: dict[int, tuple[int, bytes]], index: int) -> str:
    return pool[index][1].decode("utf-8", "surrogatepass")


def _class_name(pool: dict[int, tuple[int, bytes]], index: int) -> str:
    return _text(pool, struct.unpack(">H", pool[index][1])[0])


def _skip_attributes(data: bytes, at: int, number: int) -> int:
    for _ in range(number):
        (length,) = struct.unpack_from(">I", data, at + 2)
        at += 6 + length
    return at
