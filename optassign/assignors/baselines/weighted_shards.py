"""The assignor `weighted-shards`: Elasticsearch's allocation and rebalancing (KIP-441, "Related Work", "Elasticsearch").

Elasticsearch's, with its defaults:

* The weight of a node for an index: theta0 × (shards on the node − average) + theta1 × (shards of the index on the node −
  average of the index), thetas being shardBalance 0.45 and indexBalance 0.55, normalised.
* Allocation of what is nowhere: an in-sync replica is promoted where the primary's node is gone. Then index by index and
  shard by shard, first all primaries, then one replica of each shard, and so on, to the node of least weight without a copy.
* Rebalancing, when every copy is there and in sync: from the heaviest to the lightest node of an index while the weights
  differ by more than the threshold 1, at most two moves at a time (cluster.routing.allocation.cluster_concurrent_rebalance).
  A source goes on until its target is in sync. Primaries are not balanced apart from replicas.
* A node to be emptied (allocation filtering) gets nothing and gives its shards away.

Translated:

* Node = client, index = subtopology, shard = task, primary = active, replica = standby, master's routing table = remembered
  answer, without it the clients' own lists. A node to be emptied = a draining client.
* "Average" is a client's share in proportion to threads × capacity: Elasticsearch's nodes are all alike.
* Replicas are presumed in sync when one is promoted; a copy on disk counts as one where there is no standby. In sync means
  caught up elsewhere.
* A move to a client without a caught-up copy is a warm-up there; once that is caught up, the copy moves. A move to one that
  is caught up (also of any task without changelog) takes effect at once and does not count towards the two at a time.
* The limit of two moves at a time, and max_warmup_replicas, hold for moves off draining clients as well.
* Elasticsearch starts the next move when one is done; here a follow-up is asked for while there is something to move.

It ends: a move changes θ0 Σ (n − average)² + θ1 Σ (n of a subtopology − average)² by 2 − 2 × the difference of weights, so
above the threshold of 1 each makes it less.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from optassign.assignors.baselines.baseline import Baseline, Placed, find_surviving
from optassign.assignors.baselines.shard_moves import Routing, ShardMoves, promote_replicas
from optassign.formats.state import ApplicationState
from optassign.solving.situation import Situation


class WeightedShardsAssignor(Baseline):
    """KIP-924 TaskAssignor that treats copies as Elasticsearch treats shards."""

    name: ClassVar[str] = "weighted-shards"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Promotion and allocation, then moves off draining clients, then rebalancing."""
        problem = situation.problem
        routing = Routing(problem, promote_replicas(problem, find_surviving(situation)))
        routing.allocate()
        moves = ShardMoves(problem, routing)
        moves.drain()
        if routing.all_in_sync():
            moves.rebalance()
        waits = bool(moves.begun) or moves.left or moves.find_next() is not None
        return Placed(routing.placement(), np.array(sorted(moves.warmups), dtype=np.int64), waits)
