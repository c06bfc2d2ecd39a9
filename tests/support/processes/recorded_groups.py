"""Groups as a real broker 4.3.1 described them: the bytes of all members, and the ends of their changelogs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from optassign.inspecting.group_reading import GroupReading, Topic
from optassign.inspecting.groups import decode_member

FOLDER = Path(__file__).resolve().parents[2] / "inspecting" / "recorded"


def load_bytes(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


def read_recorded_group(name: str) -> GroupReading:
    """Return the reading of that group in the form of `optassign inspect`."""
    data = load_bytes(name)
    members = [
        SimpleNamespace(
            client_id=each["client_id"],
            group_instance_id=each["group_instance_id"],
            member_metadata=bytes.fromhex(each["member_metadata"]),
            member_assignment=bytes.fromhex(each["member_assignment"]),
        )
        for each in data["members"]
    ]
    return GroupReading(
        application=data["group"],
        taken_at_ms=data["taken_at_ms"],
        members=tuple(decode_member(member) for member in members),
        changelogs=_read_topics(data["changelogs"]),
        sources=_read_topics(data["sources"]),
    )


def _read_topics(topics: dict[str, Any]) -> dict[str, Topic]:
    return {
        name: Topic(
            {int(partition): end for partition, end in topic["ends"].items()},
            {int(partition): tuple(racks) for partition, racks in topic["racks"].items()},
        )
        for name, topic in topics.items()
    }
