"""What no broker tells of a group: Kafka Streams' settings, as the user states them, or its defaults; the stores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from optassign.formats.configs import AssignmentConfigs
from optassign.formats.input_errors import InputError

__all__ = ["StatedSettings", "read_stores"]


@dataclass(frozen=True)
class StatedSettings:
    """Settings of the application; None: the user has not said."""

    acceptable_recovery_lag: int | None = None
    max_warmup_replicas: int | None = None
    num_standby_replicas: int | None = None
    probing_rebalance_interval_ms: int | None = None
    rack_aware_assignment_tags: tuple[str, ...] = ()
    stores: Mapping[int, frozenset[str]] | None = None
    """Number of each subtopology -> its stores, from `Topology#describe()`."""

    def make_configs(self, standbys: int) -> AssignmentConfigs:
        """Configs for a snapshot. `standbys`: of each logged task, as the assignment has them."""
        stated = {
            name: getattr(self, name)
            for name in ("acceptable_recovery_lag", "max_warmup_replicas", "probing_rebalance_interval_ms")
            if getattr(self, name) is not None
        }
        number = standbys if self.num_standby_replicas is None else self.num_standby_replicas
        return AssignmentConfigs(
            num_standby_replicas=number, rack_aware_assignment_tags=self.rack_aware_assignment_tags, **stated
        )

    def list_assumed(self) -> tuple[str, ...]:
        """`name=value` of each of Kafka's defaults that is assumed, with Kafka's names."""
        defaults = AssignmentConfigs()
        names = ("max_warmup_replicas", "acceptable_recovery_lag", "probing_rebalance_interval_ms")
        return tuple(f"{name.replace('_', '.')}={getattr(defaults, name)}" for name in names if getattr(self, name) is None)


_LINE = re.compile(r"Sub-topology:\s*(?P<number>\d+)|\(stores:\s*\[(?P<stores>[^\]]*)\]\)")


def read_stores(text: str, source: str) -> dict[int, frozenset[str]]:
    """Number of each subtopology -> the names of its stores. InputError, about `source`, if the text has no subtopology."""
    stores: dict[int, set[str]] = {}
    number: int | None = None
    for found in _LINE.finditer(text):
        if found["number"] is not None:
            number = int(found["number"])
            stores.setdefault(number, set())
        elif number is not None:
            stores[number] |= {name.strip() for name in found["stores"].split(",") if name.strip()}
    if not stores:
        raise InputError(source, "", "no line that begins with Sub-topology:", "what Topology#describe() prints")
    return {number: frozenset(names) for number, names in stores.items()}
