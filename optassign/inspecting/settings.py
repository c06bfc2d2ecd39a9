"""The settings of a group that no broker tells: Kafka Streams' own settings, as the user states them, or its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optassign.formats.configs import AssignmentConfigs

__all__ = ["StatedSettings"]


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
