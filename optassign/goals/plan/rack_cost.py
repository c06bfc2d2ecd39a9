"""Goal (a), `rack_cost`: Kafka's two costs of rack awareness in one sum (KIP-925).

The cost is reads across racks × `rack_aware_traffic_cost` + copies at a new place × `rack_aware_non_overlap_cost`. It joins
only where `options.goals` names it: `rack_traffic`, which joins by itself, reads as little as can be, whatever moves.
"""

from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.goals.plan import rack_traffic
from optassign.goals.plan.active_moves import count_active_moves
from optassign.goals.plan.rack_traffic import count_rack_crossings
from optassign.goals.plan.standby_migrations import count_standby_migrations
from optassign.measuring.facts import Facts

_TRAFFIC, _NON_OVERLAP = 10, 1
"""The defaults of Kafka's HighAvailabilityTaskAssignor."""


def find_costs(configs: AssignmentConfigs) -> tuple[int, int]:
    """Return the cost of a partition that is read across racks, and of a copy at a new place."""
    traffic, elsewhere = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
    return _TRAFFIC if traffic is None else traffic, _NON_OVERLAP if elsewhere is None else elsewhere


def _measure(facts: Facts) -> int | None:
    state, plan = facts.state, facts.plan
    crossings = count_rack_crossings(state, plan)
    if crossings is None:
        return None
    traffic, elsewhere = find_costs(state.configs)
    return traffic * crossings + elsewhere * (count_active_moves(state, plan) + count_standby_migrations(state, plan))


def _find_data(state: ApplicationState) -> object | None:
    from optassign_models.goals.rack_cost import RackCosts
    from optassign_models.goals.rack_traffic import Racks

    racks = rack_traffic.GOAL.find_data(state)
    return RackCosts(racks, *find_costs(state.configs)) if isinstance(racks, Racks) else None


GOAL = Goal(
    name="rack_cost",
    place=12,
    in_default_order=False,
    unit="costs",
    measure=_measure,
    joins=rack_traffic.GOAL.joins,
    find_data=_find_data,
    why_unserved=rack_traffic.GOAL.why_unserved,
    is_count=True,
    depends_on_owners=True,
)
