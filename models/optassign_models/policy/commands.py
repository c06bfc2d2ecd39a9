"""Commands: how long they run and wait (docs/reference/command-line.md).

Made from policy.toml by `make policy`.
"""

SHORT_CALL_S = 5.0
"""The time of a call of Kafka's assignor up to which it is repeated in a warm JVM. Longer calls are warm by themselves. [s]"""
WARM_UP_CALLS = 5
"""The number of calls that warm the JVM up. The compiler has met each loop by then. [rounds]"""
TIMED_CALLS = 3
"""The number of calls whose median is shown. One may meet the garbage collector. [rounds]"""
DEMO_RATE = 100.0
"""The offsets per second that an instance of the demonstration restores. Each changelog has 1,000, so that a copy takes ten
seconds. [offsets]"""
DEMO_DURATION_S = 360.0
"""The simulated time of the demonstration. Both assignors are done by then. [s]"""
EXPLANATION_S = 10.0
"""The time limit of the answer that the demonstration explains. A reader waits for it. [s]"""
SESSION_TIMEOUT_S = 45.0
"""The session time-out of a group that does not say. It is Kafka's default. [s]"""
SAMPLE_S = 5.0
"""The default time between two samples of offsets. Rates of a busy topic show within it. [s]"""
WAIT_S = 60.0
"""The default time that `inspect` waits for a group at work. A rebalance ends within it. [s]"""
EVERY_S = 5.0
"""The default time between two snapshots. Members send offsets no more often. [s]"""
DRAIN_S = 3600.0
"""The default time that `drain --wait` waits. It bounds a script. [s]"""
DRAIN_EVERY_S = 2.0
"""The time between two looks at a drain. A script goes on within it. [s]"""
CALL_S = 30.0
"""The time-out of a call of the service. Pages take no longer. [s]"""
STATUS_S = 5.0
"""The default time-out of `status`. A probe waits no longer. [s]"""
MOST_COMBINATIONS = 20_000
"""The number of ways to share out changelogs that are compared. It bounds the work to a second; beyond it they stay open.
[entries]"""
CLOSE_SUMS = 0.05
"""The share by which sums of offsets may miss the end offsets to decide. Standbys follow their changelogs closely; a directory
that was left behind does not, and proves nothing. [share]"""
CLEARER_SUMS = 3.0
"""The factor by which the next best way has to miss more. Two ways that are nearly as good decide nothing. [times]"""
BOOTSTRAP_MS = 30_000
"""The time for the first answer of any broker. It is the default of kafka-python. [ms]"""
NAMED_GROUPS = 10
"""The number of groups that an error names. An error stays one line. [entries]"""
GROUP_LOOK_S = 1.0
"""The time between two looks for a group at work. A group that comes back is met within it. [s]"""
TOKEN_S = 10.0
"""The time-out of the token endpoint. It is Kafka's default for connecting. [s]"""
RENEW_AT = 0.8
"""The share of a token's life after which another one is asked for. It is Kafka's default of
`sasl.login.refresh.window.factor`. [share]"""
TOKEN_LIFE_S = 300.0
"""The life of a token if the endpoint does not say. Most endpoints give at least as long. [s]"""
