"""Racks: goals (a) `rack_traffic` and `rack_cost` (KIP-925).

`rack_traffic` is the number of partitions that copies read from a rack other than their client's. It takes part
if racks are configured, and is minimised at any cost in moves.

`rack_cost` is the sum of Kafka's two costs: reads across racks × `rack_aware_traffic_cost` + copies at a new place ×
`rack_aware_non_overlap_cost`. It takes part only if `options.goals` names it.
"""

from dataclasses import replace

from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskTopicPartition
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.moves import count_active_moves, count_standby_migrations
from optassign.measuring.spread import are_racks_known, count_rack_crossings, list_changelogs, list_sources

_TRAFFIC, _NON_OVERLAP = 10, 1
"""The defaults of Kafka's HighAvailabilityTaskAssignor."""


def _joins(state: ApplicationState) -> bool:
    return state.configs.rack_aware_assignment_strategy != "none" and any(c.rack is not None for c in state.clients)


def _find_traffic_data(state: ApplicationState) -> object | None:
    """Return the racks as arrays, or None if a client's rack is unknown; reads of partitions with unknown racks cost 0."""
    racks = [client.rack for client in state.clients]
    names = sorted({rack for rack in racks if rack is not None})
    if None in racks:
        return None
    import numpy as np  # only the model's data needs arrays

    from optassign_models.goals.racks import Racks

    def count(read: list[list[TaskTopicPartition]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        crossings = [[sum(bool(p.racks) and rack not in p.racks for p in partitions) for rack in names] for partitions in read]
        return np.array(crossings, dtype=np.int64).reshape(len(state.tasks), len(names))

    return Racks(
        rack_of=np.array([names.index(rack) for rack in racks if rack is not None], dtype=np.int64),
        active=count([list_sources(task) for task in state.tasks]),
        standby=count([list_changelogs(task) for task in state.tasks]),
    )


def _why_unserved(state: ApplicationState) -> str | None:
    if any(client.rack is None for client in state.clients):
        return "the racks of some clients are not known"
    if not are_racks_known(state):
        return "the racks of some partitions are not known: they count as crossing none, and no sum is reported"
    return None


def _find_costs(configs: AssignmentConfigs) -> tuple[int, int]:
    """Return the cost of a partition read across racks, and of a copy at a new place."""
    traffic, elsewhere = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
    return _TRAFFIC if traffic is None else traffic, _NON_OVERLAP if elsewhere is None else elsewhere


def _measure_cost(facts: Facts) -> int | None:
    state, plan = facts.state, facts.plan
    crossings = count_rack_crossings(state, plan)
    if crossings is None:
        return None
    traffic, elsewhere = _find_costs(state.configs)
    return traffic * crossings + elsewhere * (count_active_moves(state, plan) + count_standby_migrations(state, plan))


def _find_cost_data(state: ApplicationState) -> object | None:
    """Return the model's data of `rack_cost`: racks with the configured costs, or None if a client's rack is unknown."""
    from optassign_models.goals.racks import Racks

    racks = _find_traffic_data(state)
    traffic, elsewhere = _find_costs(state.configs)
    return replace(racks, traffic=traffic, elsewhere=elsewhere) if isinstance(racks, Racks) else None


RACK_TRAFFIC = Goal(
    name="rack_traffic",
    place=10,
    unit="pairs of a copy and a partition",
    measure=lambda facts: count_rack_crossings(facts.state, facts.plan),
    joins=_joins,
    find_data=_find_traffic_data,
    why_unserved=_why_unserved,
)
RACK_COST = Goal(
    name="rack_cost",
    place=12,
    in_default_order=False,
    unit="costs",
    measure=_measure_cost,
    joins=_joins,
    find_data=_find_cost_data,
    why_unserved=_why_unserved,
    is_count=True,
    depends_on_owners=True,
)
GOALS = (RACK_TRAFFIC, RACK_COST)
