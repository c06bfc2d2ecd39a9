"""Load: weights of tasks, spread evenly (docs/explanation/decisions/0015-load-is-balance.md).

Made from policy.toml by `make policy`.
"""

BOUND_STEPS = 30
"""The number of levels that the search for a bound of the greatest load halves between. After so many the levels differ by a
billionth. [steps]"""
THRESHOLDS = 100_000
"""The number of pairs of a threshold and a kind of client that are examined for each level. With more of them, fewer thresholds
are examined, and the bound is a bit lower. [pairs]"""
COVER_SETS = 20_000
"""The number of sets of tasks that no other one dominates which are kept. With more, those of least price for their weight are
kept, and the cover is a good one only. [entries]"""
PARTNERS = 12
"""The number of least loaded clients, and as many at random, that the most loaded one trades with. The least loaded ones alone
may all hold a copy of the same tasks. [clients]"""
MOST_PARTNERS = 100
"""The number of clients that it considers before it is given up. Each costs a look at all its tasks. [clients]"""
LEAST_GAIN = 0.0001
"""The least gain of a trade in the greatest of the loads. A smaller gain is not worth a step. [share]"""
PAIRED_TASKS = 40
"""The number of tasks of a client that are tried as pairs, from the heaviest to the lightest. Pairs grow with the square of it.
[tasks]"""
FEW_TASKS = 12
"""The number of tasks on a client up to which three may go together. There are as many threes as the cube of it. [tasks]"""
CLIENTS_FOR_THREE = 300
"""The number of clients of a group up to which three tasks may go together. It bounds the time. [clients]"""
SEED = 4_969
"""The seed of the clients that are taken at random. The same input gives the same answer. [seed]"""
TRADES = 20_000
"""The greatest number of trades. The limit does not depend on the machine (R9). The JVM has less time. [steps]"""
MOVE_OFFSETS = 0.5
"""The offsets that an active task counts that moves to a caught-up copy. A move is more than nothing, and less than to restore.
[offsets]"""
PLACING_ROUNDS = 8
"""The number of rounds in which tasks are placed by prices that the last round has taught. It bounds the time. [rounds]"""
EVEN = 1.0003
"""The greatest load in even spreads that counts as even. The rest is not worth a move. [times]"""
TOLLS = 14
"""The number of tolls on shed weight that are tried. Each makes one plan. [steps]"""
LEAVING_TASKS = 60
"""The number of tasks of one client that are examined for leaving it, those of least price for their weight. It bounds the
time; dearer ones leave last. [tasks]"""
ROUNDING = 1e-09
"""The tolerance of loads and weights. Sums of the same weights in another order differ by less. [share]"""
NEIGHBOURHOOD_CLIENTS = 8
"""The number of clients of one neighbourhood. CP-SAT ends within its time for so many. [clients]"""
NEIGHBOURHOOD_TASKS = 120
"""The greatest number of tasks of one neighbourhood. CP-SAT ends within its time for so many. [tasks]"""
NEIGHBOURHOOD_WORK = 0.15
"""The deterministic time of one neighbourhood. The limit does not depend on the machine (R9). [work]"""
NEIGHBOURHOOD_SEED = 7_144
"""The seed of the order of neighbourhoods. The same input gives the same answer. [seed]"""
PROGRAM_PAIRS = 60_000
"""The number of pairs of a task and a cheaper client up to which there is a linear program. It bounds the time. [pairs]"""
WHOLE_PAIRS = 6_000
"""The number of such pairs up to which there is a program in whole numbers. It bounds the time. [pairs]"""
PROGRAM_NODES = 400
"""The greatest number of nodes of such a program. The limit does not depend on the machine (R9). [steps]"""
NEIGHBOURHOODS = 80
"""The number of neighbourhoods that are tried. It bounds the time. [rounds]"""
PROGRAM_SHARE = 0.45
"""The share of the remaining time that each program gets. It is a guard, as nodes limit programs. [share]"""
LIGHT = 0.12
"""The part of a client's size below which tasks that are not caught up are one continuous amount. They fit into any gap.
[share]"""
CLASS_RATIO = 1.06
"""The ratio between the weights of two classes of tasks. With fewer classes the program is smaller, but its bound weaker.
[times]"""
