"""Input: what a snapshot may hold, and how it weighs tasks and estimates times.

Made from policy.toml by `make policy`.
"""

HALF_LIFE_MS = 28_800_000
"""The age at which a measurement of a rate counts half. A day's curve moves weights a little, an hour's peak hardly. [ms]"""
LEAST_MEASURED_MS = 1_000
"""The least time between two snapshots that tells a rate of input. Two passes of one rebalance come sooner. [ms]"""
COUNTS_AFTER_MS = 60_000
"""The time that a rate has to be measured until it weighs tasks. A few seconds of any input are mostly chance. [ms]"""
LEAST_WEIGHT = 0.05
"""The least weight of a task, as a share of the mean. A thread at least polls for it. [share]"""
MOST_WEIGHT = 1000000000.0
"""The greatest weight of a task, a change or a limit. It is far above any ratio of rates, and sums of it are exact enough.
[times]"""
EARLY_MS = 100
"""The time by which a date in a snapshot or a report may be early. Kafka and reports round instants. [ms]"""
LOAD_TOLERANCE = 0.05
"""The default tolerance of the greatest load. Rates differ by more from one hour to the next. [share]"""
LEAST_LOAD_GAIN = 0.05
"""The default of the least fall of the greatest load, in even spreads, for which tasks move. A smaller gain does not pay for
restoring. [share]"""
MOST_STANDBYS = 20
"""The greatest number of standbys per task in a what-if question. An answer takes time in proportion to it. [copies]"""
MOST_WARMUPS = 100_000
"""The greatest number of warm-ups in a what-if question. It is more than any group has tasks. [copies]"""
MOST_THREADS = 10_000
"""The greatest number of threads of a client in a what-if question. It is more than any JVM runs. [threads]"""
MOST_ADDED = 1_000
"""The greatest number of clients that a what-if question adds. An answer takes time in proportion to it. [clients]"""
NAMED_EXAMPLES = 5
"""The number of left-out entries that a message names. A message stays one line. [entries]"""
MOST_TOTAL_CAPACITY = 9_000_000_000_000
"""The greatest sum of threads times capacity of all clients. In millionths, as shares are computed, it is within 64 bits.
[threads]"""
SHOWN_CHARACTERS = 60
"""The number of characters of a value that an error shows. An error is one line. [characters]"""
LONGEST_PLACE = 300
"""The number of characters of a place that an error shows. An error is one line. [characters]"""
MOST_DIGITS = 1_000
"""The number of digits of a number that is read. Reading takes time in proportion to the square of it. [characters]"""
MOST_FILE_BYTES = 1_073_741_824
"""The greatest size of a file, as it is and inflated. A small file can hold any number of zeros. [bytes]"""
LONGEST_REMEMBERED_ID = 300
"""The number of characters of a task's id up to which it is kept for the next use. The senders of ids must not decide how much
memory is used. [characters]"""
ASSUMED_RATE = 10_000
"""The offsets per second that a client restores of which no rate is known. A disk and a network of 2020 do more. [offsets]"""
FOLLOWUP_TAKES_MS = 1_500
"""The time of a follow-up in addition to its waiting, about. Members join, and the answer is confirmed. [ms]"""
WORTH_SAYING = 0.9
"""A remark is made if its advice leaves at most this share of a cost. A smaller gain is within the error of an estimate.
[share]"""
MOST_LISTED = 20
"""The number of clients up to which an explanation lists all of them. In a larger group only those that concern the task are
read. [clients]"""
SHOWN_CLIENTS = 10
"""The number of clients that a text of an explanation shows. Longer lists are not read. [clients]"""
SHOWN_BOUNDS = 2
"""The number of bounds that are named for each client. One says it; a second shows that it is not the only one. [entries]"""
SHOWN_REMARKS = 3
"""The number of examples that a remark about the input names. A remark stays one line. [entries]"""
DESCRIBED_CLIENTS = 5
"""The number of clients that a line of the log names. A line stays readable. [clients]"""
MOST_AHEAD_MS = 604_800_000
"""The time by which a date may be ahead of the clock. A later one is of a wrong clock or of a liar; all later answers would
have to be dated after it. [ms]"""
ACCEPTABLE_LAG = 10_000
"""The lag up to which a copy is caught up, if the group does not say. It is Kafka's default. [offsets]"""
LEAST_CAPACITY = 1e-06
"""The least capacity of a thread. A smaller one is a mistake of units. [times]"""
MOST_CAPACITY = 1000000.0
"""The greatest capacity of a thread. A greater one is a mistake of units. [times]"""
