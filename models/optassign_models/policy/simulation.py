"""Simulation: generated groups, histories and the passing of time (docs/reference/simulator.md).

Made from policy.toml by `make policy`.
"""

DEALS = 200
"""The number of times that actives and copies are dealt anew before it is given up. Few shapes of groups need a second one.
[rounds]"""
SMALLEST_END = 11_000
"""The least end offset of a changelog that is not tiny. It is a bit more than Kafka's default acceptable lag of 10,000.
[offsets]"""
LARGEST_END = 20_000_000
"""The greatest end offset of a changelog. It takes half an hour to restore at the assumed rate. [offsets]"""
MEDIAN_END = 300_000
"""The median end offset of a changelog. It takes half a minute to restore at the assumed rate. [offsets]"""
MOST_CHANGES = 8
"""The greatest number of changes of the members in a history. Histories stay short enough for thousands of them. [rounds]"""
TINY_SHARE = 0.1
"""The share of logged subtopologies whose changelogs are within the acceptable lag as a whole. Some stores are small in any
application. [share]"""
MOST_PASSES = 20
"""The greatest number of passes of one cooperative rebalance. An assignor whose later passes always revoke anew is stopped.
[rounds]"""
AFTERWARDS_S = 3600.0
"""The time that is played after the last recording. Copies on their way are restored by then. [s]"""
AGEING = 50
"""One part in this many of a changelog is written between two rebalances. State without a role falls behind by it. [times]"""
IN_SYNC = 0.001
"""The distance from the end of a changelog at which a copy is there. Sums of fractions are not exact. [offsets]"""
PERIOD_S = 300.0
"""The time of one step of the inputs. A day has 288 steps, and an hour's burst is one of them. [s]"""
SWING = 0.6
"""The swing of the daily curve: from 0.4 to 1.6 times the mean. Web traffic swings by as much. [share]"""
BURST = 3.0
"""The factor on the mean for one step of each hour; tasks burst one after the other. It shows whether an assignor chases
bursts. [times]"""
MOST_TIMED_PASSES = 50
"""The greatest number of passes of one rebalance in time, or twice as many as there are tasks. If copies are restored within a
pass, each pass may move the next tasks. [rounds]"""
RESTART_S = 10.0
"""The time that a restart takes if the scenario does not say. A JVM starts in about as long. [s]"""
NOISE_S = 10.0
"""The time that restore rates stay as they are, if they are noisy. It is longer than a look and shorter than a copy. [s]"""
TOLD_EVERY = 100
"""The number of steps between two reports of progress. Each report takes longer than a step. [steps]"""
EVENT_BEGINS_S = 60.0
"""The time at which the simulated event of an outlook begins. The group is stable before. [s]"""
OUTLOOK_S = 172800.0
"""The time that a group is given to become stable. Two days are more than any restoring takes. [s]"""
DOWN_S = 30.0
"""The time that an instance is away in a rolling restart. A session time-out of 45 s, Kafka's default, does not miss it. [s]"""
EVERY_S = 180.0
"""The time from one instance of a rolling restart to the next. A deployment that waits until each instance runs takes as long.
[s]"""
COMPARED_SLOTS = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of `max.warmup.replicas` that are compared. Doubling shows where more of them stop to help. [copies]"""
WORTH_SLOTS = 1.1
"""The fewest warm-ups pay that take at most this many times as long as the best number. More warm-ups load the brokers.
[times]"""
LEAST_WHAT_IF_S = 1800.0
"""The least time that a what-if question simulates. It shows a few follow-ups. [s]"""
MOST_WHAT_IF_S = 86400.0
"""The greatest time that a what-if question simulates. A page waits for it. [s]"""
