"""The order of the goals and their weights, as data (docs/rules.md, "The plan").

A snapshot's `options` or a TOML file may give them; what they do not give is the preset's own. Goals (a) (rack traffic, tag
spread, load) take part where they are configured: a rack-aware strategy, tags, or weights that differ.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from optassign.formats.configs import Options, Weights
from optassign.formats.state import ApplicationState

UNSERVED = "goal not served: "
CONFIGURED = ("rack_traffic", "tag_spread", "load")
"""Goals (a)."""
ORDERED = ("restore_work", "cold_copies", "cold_actives", "active_moves", "standby_moves")
"""Goals (b) to (f)."""


@dataclass(frozen=True)
class GoalOrder:
    """What a plan is optimised for."""

    preset: Literal["ordered", "weighted"]
    goals: tuple[str, ...]
    """Names, most important first."""
    weights: Weights

    @property
    def configured(self) -> tuple[str, ...]:
        """Goals (a) among them."""
        return tuple(goal for goal in self.goals if goal in CONFIGURED)

    @property
    def is_default(self) -> bool:
        """Whether the goals are (b) to (f) in their order, for which the flows are exact."""
        return self.preset == "ordered" and self.goals == ORDERED


def goal_order(state: ApplicationState) -> GoalOrder:
    """The goals of a snapshot: as its options say, or the default order with goals (a) where they are configured."""
    options = state.options
    goals = options.goals if options.goals is not None else (*_configured(state), *ORDERED)
    return GoalOrder(options.preset, tuple(goals), options.weights)


def read_options(path: Path) -> Options:
    """Options from a TOML file, with the names they have in a snapshot's `options`.

    Raises ValueError, in one line with place, found and allowed, for what cannot be read or is not right.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}; allowed: a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    try:
        return Options.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{path}: {place}: {first['msg']}") from None


def _configured(state: ApplicationState) -> tuple[str, ...]:
    configs = state.configs
    found = []
    racks = configs.rack_aware_assignment_strategy != "none" and any(c.rack is not None for c in state.clients)
    if racks:
        found.append("rack_traffic")
    if configs.rack_aware_assignment_tags and configs.num_standby_replicas:
        found.append("tag_spread")
    if len({task.weight for task in state.tasks}) > 1:
        found.append("load")
    return tuple(found)
