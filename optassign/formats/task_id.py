"""Task ids: `<subtopology>_<partition>` or, in a named topology, `<name>__<subtopology>_<partition>` (Kafka's TaskId).

Other code keeps ids as plain JSON strings, so that lists and dictionaries of ids are read without a call for each. `TaskId` is
the parsed form, for sorting and for the subtopology.
"""

import re
from functools import lru_cache
from typing import NamedTuple

LONGEST_REMEMBERED_ID = 300
"""The longest memoised id: senders of ids must not determine the memory in use."""


INT32_MAX = 2**31 - 1
TASK_ID_PATTERN = r"^(?:.+__)?(?:0|[1-9][0-9]{0,9})_(?:0|[1-9][0-9]{0,9})$"
TASK_ID_ALLOWED = (
    "<subtopology>_<partition> or <name>__<subtopology>_<partition>, "
    "numbers from 0 to 2147483647 without signs or leading zeros"
)


# Greedy: a topology's name may contain underscores. No leading zeros: "0_03" would be a second spelling of 0_3.
_PARSE = re.compile(r"(?:(.+)__)?(0|[1-9][0-9]{0,9})_(0|[1-9][0-9]{0,9})")


class TaskId(NamedTuple):
    """A parsed task id. Sorts by (name, subtopology, partition), numerically; the name is empty without a named topology."""

    name: str
    subtopology: int
    partition: int

    @property
    def subtopology_key(self) -> tuple[str, int]:
        """(name, subtopology), which identifies the subtopology."""
        return (self.name, self.subtopology)

    def __str__(self) -> str:
        numbers = f"{self.subtopology}_{self.partition}"
        return f"{self.name}__{numbers}" if self.name else numbers

    @staticmethod
    def parse(text: str) -> "TaskId":
        """Parse an id; memoised. ValueError, with the allowed form, if it is not a task id."""
        return _parse(text)


def _parse(text: str) -> TaskId:
    return _parse_once(text) if len(text) <= LONGEST_REMEMBERED_ID else _parse_once.__wrapped__(text)


@lru_cache(maxsize=1 << 17)
def _parse_once(text: str) -> TaskId:
    match = _PARSE.fullmatch(text)
    if match is not None:
        name, subtopology, partition = match[1] or "", int(match[2]), int(match[3])
        if subtopology <= INT32_MAX and partition <= INT32_MAX:
            return TaskId(name, subtopology, partition)
    shown = ascii(text if len(text) <= 60 else text[:57] + "...")
    raise ValueError(f"{shown} is no task id; allowed: {TASK_ID_ALLOWED}")


def sorted_ids(ids: "list[str] | tuple[str, ...] | set[str] | frozenset[str]") -> list[str]:
    """Return task ids in Kafka's order. ValueError if one cannot be parsed."""
    return sorted(ids, key=_parse)
