"""Lost tasks and standbys, spread where every goal is the same (docs/reference/rules.md, "Lost tasks" and "Failover").

Made from policy.toml by `make policy`.
"""

ROUNDS = 4
"""The number of turns over all lost tasks, and over all standbys. The first turn does nearly all. [rounds]"""
LOST_CANDIDATES = 32
"""The number of exchanges of a lost task that are examined closely: the ones after which both clients finish soonest. Each
examines whole disks. [copies]"""
LOST_TURNS = 1_000
"""The number of lost tasks that get a turn, in all rounds together, the largest first. A group that starts from nothing has as
many lost tasks as tasks, and its members wait for the answer. [copies]"""
LOST_WORK = 200_000
"""The greatest product of those turns and the lost tasks of the client that has most. Each turn examines whole disks.
[copies]"""
LOST_LEAST_GAIN = 1e-06
"""The least gain of an exchange of lost tasks, as a share of what was lost before. Sums of fractions are not exact. [share]"""
FAILOVER_CANDIDATES = 256
"""The number of standbys that are examined for each that might move. The time stays linear in the number of standbys. The JVM
has no vectors of numbers, and less time. [copies]"""
FAILOVER_ROTATED = 64
"""The same number if three standbys change places. Three change places in as many ways as the square of this. [copies]"""
FAILOVER_LEAST_GAIN = 1e-09
"""The least gain of an exchange of standbys. Sums of fractions are not exact. [share]"""
FAILOVER_MOST_BYTES = 200_000_000
"""The memory that the tables of pairs may take; in larger groups standbys stay. A worker of the service has a limit of memory.
[bytes]"""
