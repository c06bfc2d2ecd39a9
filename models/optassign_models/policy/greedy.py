"""Greedy: how far it searches (docs/reference/assignors.md).

Made from policy.toml by `make policy`.
"""

COSTS_SAVED_UP_TO = 10_000
"""The number of arcs up to which greedy saves costs of actives at all. It bounds the time. [pairs]"""
EXCHANGE_ARCS = 400_000
"""The number of arcs that an exchange examines to save costs, and of rows of tasks that it sorts for swaps. It bounds the time
by work, so that no answer depends on the machine (R9). [pairs]"""
MATCHING_ROUNDS = 60
"""The number of rounds of bids or proposals. A few are mostly enough; an open bid stays open, and the proposals kept last are
taken. [rounds]"""
BID_STEPS = 40
"""The number of steps from nothing to the mean worth in which bids rise. Fewer end sooner, more come nearer to the optimum.
[steps]"""
NEAR_PAIRS = 256
"""The number of pairs that are looked at first for a swap. A swap is mostly found among the nearest. [pairs]"""
MISSES = 64
"""The number of pairs without a swap after which no more swaps are looked for. It bounds the time; later pairs are further
apart. [pairs]"""
PUSHING_ROUNDS = 40
"""The greatest number of rounds in which units are pushed along paths. Five to ten are mostly enough. [rounds]"""
LABEL_PASSES = 6
"""The number of passes of the labels between two looks for cycles. A look costs as much as a few passes. [rounds]"""
LEAST_PASSES = 8
"""The number of passes over all arcs that an effort has to suffice for. A search that ends sooner finds next to nothing.
[rounds]"""
FEW_CLIENTS = 16
"""The number of clients up to which copies are dealt with regard to R2. A pool of so few is too small to be dealt without.
[clients]"""
FEW_CANDIDATES = 8_000
"""The number of candidates up to which copies are exchanged before they are dealt. It bounds the time. [pairs]"""
SWAP_FIRST_FROM = 4_000
"""The number of pairs beyond which clients swap tasks first. The exchange takes one copy at a time. [pairs]"""
COLUMNS_OF_FEW = 1_000_000
"""The greatest number of pairs of a copy and a client that become columns where clients are few. The exchange examines each
column in every round. [pairs]"""
COLUMNS_OF_LOST = 200_000
"""The same number where copies found no place. The exchange examines each column in every round. [pairs]"""
COLUMNS_OF_GUESSED = 20_000
"""The same number where prices of places were guessed. A guess is good for small groups only. [pairs]"""
SWAPPING_CLIENTS = 40
"""The number of clients beyond which no tasks are swapped. There are too many pairs of clients. [clients]"""
DISK_STEPS = 4_000
"""The greatest number of trades for even disks. The limit does not depend on the machine (R9). [steps]"""
DISK_PARTNERS = 16
"""The number of clients of least state that the fullest one considers, and as many at random. The least ones alone may all hold
a copy of the same tasks. [clients]"""
WRITTEN_OUT_PAIRS = 50_000_000
"""The number of pairs of task and client beyond which greedy trades nothing for disks, racks and tags. The table of holders is
written out, and takes a byte for each pair. [pairs]"""
DISK_LEAST_GAIN = 100
"""The least gain of a trade for disks, in millionths of an even spread. A smaller gain is not worth a step. [millionths]"""
DISK_SEED = 441
"""The seed of the clients that are taken at random. The same input gives the same answer. [seed]"""
COMPARED_PAIRS = 20_000_000
"""The number of pairs of tasks or copies that are examined for racks and tags: about a second. It bounds the time by work (R9).
[pairs]"""
EARLIER_TAG = 4
"""The worth of a value of a tag, in values of the tag after it. A swap wins or loses two values at most. [times]"""
WEIGHED_TAGS = 16
"""The number of tags that are told apart so; those before weigh the same. More would leave the range of 64 bits. [steps]"""
LESSENING_TURNS = 100
"""The number of turns in which single tasks move. Ten are mostly enough. [rounds]"""
SECOND_TRY = 400
"""The number of pairs of task and client up to which a second plan is made, though the first is balanced. It may move less. A
JVM makes plans of small groups in a millisecond, so it tries more. [pairs]"""
