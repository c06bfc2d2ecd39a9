"""The constants of Python, made from policy.toml by `make policy`."""


# When a follow-up is due, and what the time between two snapshots teaches (docs/reference/rules.md, "The follow-up").

REBALANCE_MS = 1_000
"""The time that a rebalance takes, about. A follow-up sooner than this would be merged with the previous rebalance. [ms]"""
LAG_AGE_MS = 3_000
"""The age that the lags of a snapshot may have: a member reports them when it joins the rebalance. Members learn of a rebalance
with their heartbeat, by default each 3 s; a second pass comes sooner and teaches nothing. [ms]"""
MOMENT_MS = 100
"""The time by which a follow-up is late at least; it is also added to each estimate. A snapshot that comes sooner is another
pass. A look a moment too early costs one more follow-up. [ms]"""
MARGIN = 1.05
"""The factor on an estimate of restore time, before the moment is added. A look a moment too early costs one more follow-up.
[times]"""
START_MS = 3_000
"""The time that a client must have restored for a measurement to be a rate, not a lower bound. On a real broker the first
seconds of a copy have a tenth to a third of the later rate. [ms]"""
BATCH_MS = 3_000
"""The time that each batch of copies adds to its restore time, in estimates of the time to balance. Slots wait for half a
heartbeat until a rebalance has taken effect, and a copy starts slowly. [ms]"""
BELIEVED_FIRST = 3.0
"""The factor on a rate that is only a lower bound, if nothing was known of the client. All copies were caught up, so the disk
is faster. One prior in place of the factors: 1.28 of the limit, not 1.05. [times]"""
BELIEVED_MORE = 1.5
"""The factor on a lower bound that is above a known rate, and on a lower bound that was met again. A lower bound that grew by a
tenth each time took too many follow-ups where copies take less than a second. [times]"""
BELIEVED_MEASURED = 1.01
"""The factor on a measured rate, if all copies were caught up when the snapshot came. A rate that was measured once stays, but
it may recover from a time of load. [times]"""
FIRST_LOOK_MS = 2_000
"""The time until the first look, while the group has no known rate. The first copies show the rate; each further look without
progress waits twice as long. [ms]"""
NO_PROGRESS_LOOK_MS = 120_000
"""The longest wait for a follow-up if the last one brought nothing, until the group is stalled. A group is stalled after three
answers without progress: an operator sees it within a quarter of an hour, after 10 minutes of waiting too. [ms]"""
MOST_DOUBLINGS = 40
"""The most times that the wait for a follow-up doubles while follow-ups bring nothing. The probing interval has ended the wait
before; more doublings would leave 64 bits. [times]"""
SOON_MS = 60_000
"""The longest time until a first look that counts as soon. Beyond it follow-ups come by the interval, so a first look gains
nothing. [ms]"""
AGREES = 1.5
"""The factor by which two measurements of a client's rate differ at most for the rate to be steady. Lags as old as a heartbeat
and changes of load differ by more; measurements of one disk at rest differ by less. [times]"""
RATE_WINDOW_MS = 25_000
"""The time over which agreeing measurements of a rate count, and from which a rate is trusted. Slow starts agree, and a busy
machine's rate changes within 10 s. From 40 s on, two slots and copies of a minute take a fifth more rebalances. [ms]"""
LOOK_AGAIN = 0.7
"""The longest wait for a client without a trusted rate, as a share of the time that it has restored. A wrong rate loses less
than half of the time then. At 1.0 a look falls just after a heartbeat, and a busy group's copies begin 3 s late. [share]"""
OUTWAITED = 0.125
"""The share of the awaited copies whose own limits a wait may exceed. One unsure client of 25 had a group of 1,000 tasks look
every 7 s: 232 rebalances in a scale-out, 40 with this. Groups of 100 tasks keep theirs. [share]"""
IDLE_SHARE = 0.2
"""The share of the time that warm-up slots may stay empty, on average, until a follow-up. Each follow-up is a rebalance of the
whole group. [share]"""
LONG_IDLE_SHARE = 0.3
"""The same share while more than two batches of copies wait. A long queue has many follow-ups, and each is a rebalance.
[share]"""
HALF_SOONER = 0.7
"""Half of the planned actives move first if they restore within this share of the time of all. Half of them end half of the
imbalance; if the rest follows at once, one rebalance moves all. [share]"""
LEAST_INTERVAL_MS = 60_000
"""The least time between two answers that R11 counts, and between two questions of a group at rest. It is Kafka's least probing
interval, so that frequent looks do not use up the patience of a copy. [ms]"""

# Follow-ups that a service or the plug-in adds, delays or lets every client ask for (docs/reference/rules.md, R8).

IDLE_FOLLOWUP_MS = 600_000
"""The default time until a group at rest with a service rebalances, so that requests take effect. A rebalance stops each task
for a moment, so a group at rest has six in an hour at most; an operator waits ten minutes at most. [ms]"""
LEAST_AFTER_PASS_MS = 100
"""The least time until a follow-up of the service after a confirmed second pass (KIP-429). The pass has taken a rebalance's
time already; another second was waited for nothing. [ms]"""
ASKED_BY_ALL_MS = 30_000
"""The longest delay of a follow-up that every client asks for; one client asks for a later one. Other clients join at their
next heartbeat, up to 3 s later: a tenth of this. A clock that is ahead brings later ones too early. [ms]"""

# Which planned copies get the warm-up slots (docs/reference/rules.md, "Warm-ups").

PATIENCE = 3
"""The number of answers without progress after which a copy goes to the end of the queue (R11). One answer may come between two
fetches of the restore consumer; a copy that never restores must not block a slot. [answers]"""
TOGETHER = 0.1
"""The share of the time within which copies end together. Copies that end together need one follow-up. [share]"""

# The temporary offload of active tasks while copies restore (docs/reference/rules.md, "Temporary offload").

STATELESS_S = 60
"""The default price of an extra move of a stateless task. A stateless task moves within a rebalance, but its records wait until
then. [s]"""
LOGGED_S = 300
"""The default price of an extra move of a logged task to its caught-up standby. The move is paid twice: there and back. [s]"""
OFF_S = 1_000_000_000
"""The price that switches offload off; the greatest that is allowed. No imbalance lasts for thirty years. [s]"""

# Lost tasks and standbys, spread where every goal is the same (docs/reference/rules.md, "Lost tasks" and "Failover").

ROUNDS = 4
"""The number of turns over all lost tasks, and over all standbys. The first turn does nearly all. [rounds]"""
LOST_CANDIDATES = 32
"""The number of exchanges of a lost task that are examined closely, those that finish soonest. Each examines whole disks.
[copies]"""
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

# The one model, flows and CP-SAT: how large they get and when they end (docs/explanation/model.md).

ITERATIONS = 2_000_000
"""The greatest number of iterations of a linear program. The limit does not depend on the machine (R9); no program met so far
needed a tenth of it. [steps]"""
NODES = 2_000
"""The greatest number of nodes of a program in whole numbers. The limit does not depend on the machine (R9). [steps]"""
SCALED_BITS = 13
"""The bits of the greatest cost in the solver. The solver's tolerances are absolute, so large costs would hide small ones.
[steps]"""
DUAL_PARTS = 12_288
"""The denominator to which duals are rounded. Most duals of these programs are whole, halves or thirds. Sums of goals with odd
weights need finer parts. [steps]"""
FIRST_STEPS = (4, 4, 4, 2, 2)
"""The steps of each share at first: two of a client, one of its actives, two of a subtopology. Few are used where a plan is
good. [steps]"""
SEPARATION_ROUNDS = 8
"""The number of times that a program is solved again with separated places or pools written out as columns. Each takes a
solution. Groups of unequal clients may need fifty: beyond all_pairs greedy then answers, which the report says. [rounds]"""
FIRST_SEPARATED = 2_048
"""The most merged places that the first round separates for each flow where fewer would do. The widest minimum cut often has
all places, which take minutes with racks. The narrowest takes twice the rounds. [copies]"""
MORE_SEPARATED = 8
"""The factor on first_separated in each later round. The third round may separate all places, so that eight rounds suffice.
[times]"""
PRICED_STEPS = 8
"""The copies beyond a share that cost more one after the other, where imbalance is a later goal of a flow. Temporary offload
seldom exceeds shares by more, and further arcs would be as many as pairs of tasks and clients. [copies]"""
ALL_PAIRS = 50_000
"""The number of pairs of task and client up to which each pair becomes a candidate if pools leave a gap. HiGHS takes 1.3 s for
34,000 pairs, and nearly always proves the target. Rounds of pools may end far from it. [pairs]"""
POOLED_ROUNDS = 3
"""The rounds with pools, where each pair of task and client may be a candidate instead. Pools that cannot be dealt in three
rounds may take fifty; all pairs take one. [rounds]"""
MERGE_FROM = 3_000
"""The number of places from which equal ones with much room are merged. 3,000 × 600 takes an eighth of the time, 2,000 × 200
half of it, with equal values; small groups gain nothing. [variables]"""
MERGE_ALL_FROM = 20_000
"""The number of places from which all equal ones are merged. There are fewer variables, but the relaxation is weaker where room
is short, and places have to be separated. [variables]"""
ROOMY_SHARE = 0.7
"""The share of the room of a subtopology's places that its copies may take for these places to count as roomy. With less room,
places have to be separated again, which takes a solution each time; at 0.45 fewer groups gain. [share]"""
WHOLE_TOLERANCE = 0.001
"""The distance from a whole number up to which a value is that number. Costs are whole. [share]"""
MOST_WHOLE = 60_000
"""The number of free variables up to which branch and bound has a program in whole numbers. It bounds the time: each node of
branch and bound solves the program once. [variables]"""
FULLY_SEARCHED_VARIABLES = 10_000
"""The number of free variables up to which branch and bound searches to the end. Beyond it, 17 s were seen for the last
millionth. [variables]"""
MOST_TIED = 10_000
"""The number of columns up to which the last tie has a program of its own. Operators of larger groups do not ask for the least
id. [variables]"""
ACCEPTED_GAP_PARTS = 1_000
"""A value of a larger program may be above its bound by one part in this many: 0.1%. The last part of a thousandth costs most
of the time. [times]"""
RESTATED_PROGRAMS = 12
"""The number of times that a program is built again with more steps. A program is built again with all steps that its optimum
lacks, so few need a third time. [rounds]"""
SECONDS_PER_VARIABLE = 6e-06
"""The time for a variable, for each stage and class of clients. Programs of several classes take as long; those of one class
take up to six times as long, and end in time. [s]"""
TIME_LIMIT = 10.0
"""The default time limit of an assignor. A group of 100,000 tasks and 1,000 clients is solved within it. [s]"""
SECONDS_PER_ARC = 1.2e-05
"""The time that a plan without a solver and the stages after it take, for each task, candidate and place. Groups of 100,000
tasks take four fifths of it; the program of the target and the flow of copies have to leave it. [s]"""
SECONDS_PER_FLOW_ARC = 1e-05
"""The time that a flow of copies takes, for each task, candidate and place. It was the most that was measured; most groups of
30,000 to 100,000 tasks take half of it. [s]"""
SECONDS_PER_COMPARED_PAIR = 3e-07
"""The time for each pair of copies that is compared for racks and tags after such a plan. It was the most that was measured,
for 14 to 20 million pairs. [s]"""
SMALL_PAIRS = 20_000
"""The number of pairs of task and client up to which each pair is a candidate in programs of sums, and in exported programs.
CP-SAT finds nothing in larger groups within the time. [pairs]"""
CP_SAT_VARIABLES = 2_000
"""The number of free variables up to which CP-SAT decides a program, unless a solver is asked for. It proves each such program
of the default order within a second; HiGHS and duals are faster beyond. [variables]"""
CP_SAT_FIRST_WORK = 0.2
"""The deterministic time after which CP-SAT gives a small program to the relaxation, unless a solver is asked for. It proves
nearly all in less. Otherwise only the goals of least weight are open, which duals prove at once. [work]"""
CP_SAT_TIE_WORK = 0.05
"""The deterministic time of CP-SAT for the last tie. The tie is about the order of ids, so an unproven order is good enough.
[work]"""
CP_SAT_WORK = 1.0
"""The deterministic time of CP-SAT for each call: about seconds. The limit does not depend on the machine (R9). [work]"""
KEPT_PLAN_PARTS = 50
"""A remembered plan may be worse by one part in this many: 2%. A new plan would give up copies on their way for next to
nothing. [times]"""
MIGRATIONS_PER_CHANGELOG = 5
"""The number of further migrations that are worth the restoring of a mean changelog. A migration takes seconds, restoring takes
minutes. [times]"""
MENDING_ROUNDS = 4
"""The number of looks at a placement that keeps limits by single moves. A later rebalance would look again. [rounds]"""

# Greedy: how far it searches (docs/reference/assignors.md).

EXACT_PAIRS = 5_000
"""The number of pairs and counts up to which greedy fills counts along paths of least cost. 1,000 tasks on 100 clients then
take 0.1 s to 0.3 s. Paths of fewest arcs take less time. [pairs]"""
KEEPING_ROUNDS = 60
"""The number of rounds in which greedy keeps pairs. It keeps nearly all in the first five. Paths place the rest. [rounds]"""
DEALING_TURNS = 12
"""The number of turns in which greedy deals places to tasks. Each turn leaves tasks that have a copy at the place already.
Twelve turns leave next to none. [rounds]"""
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
"""The steps in which upper bounds give way if greedy cannot keep them. All counts then exceed their bounds by about the same.
After the last step they have no bound. [copies]"""
SECOND_TRY = 400
"""The number of pairs of task and client up to which a second plan is made in any case. It may move less. A JVM makes plans of
small groups in a millisecond, so it tries more. [pairs]"""
DISK_STEPS = 4_000
"""The greatest number of trades for even disks. The limit does not depend on the machine (R9). [steps]"""
DISK_PARTNERS = 32
"""The number of clients of least state that the fullest one considers first. They take most. If each of them holds a copy of
the same tasks, it considers all. [clients]"""
DISK_COPIES = 300
"""The number of copies that the fullest client offers in a trade for disks, and the root of the number of pairs. All pairs of
two clients with thousands of copies each would take gigabytes. [copies]"""
WRITTEN_OUT_PAIRS = 50_000_000
"""The number of pairs of task and client beyond which greedy trades nothing for disks, racks and tags. The table of holders is
written out, and takes a byte for each pair. [pairs]"""
DISK_LEAST_GAIN = 100
"""The least gain of a trade for disks, in millionths of an even spread. A smaller gain is not worth a step. [millionths]"""
COMPARED_PAIRS = 20_000_000
"""The number of pairs of tasks or copies that are examined for racks and tags: about a second. It bounds the time by work (R9).
[pairs]"""
EARLIER_TAG = 4
"""The worth of a value of a tag, in values of the tag after it. A swap wins or loses two values at most. [times]"""
WEIGHED_TAGS = 16
"""The number of tags with weights of their own; those before weigh the same. More would leave the range of 64 bits.
[entries]"""

# Load: weights of tasks, spread evenly (docs/explanation/decisions/0015-load-is-balance.md).

BOUND_STEPS = 30
"""The bisection steps of the search for a bound of the greatest load. The levels differ by a billionth then. [steps]"""
THRESHOLDS = 100_000
"""The number of pairs of a threshold and a kind of client that are examined for each level. With more of them, fewer thresholds
are examined, and the bound is a bit lower. [pairs]"""
PARTNERS = 12
"""Half of the number of least loaded clients that the most loaded one trades with. The least loaded ones may hold copies of the
same tasks. With as many clients at random loads are no more even. [clients]"""
TRADE_TRIES = 40
"""The trades of one client, by their gain, that are examined for two copies of one task on a client. A later one gains little.
[rounds]"""
LEAST_GAIN = 0.0001
"""The least gain of a trade in the greatest of the loads. A smaller gain is not worth a step. [share]"""
PAIRED_TASKS = 40
"""The number of tasks of a client that go alone or in pairs in a trade, from the heaviest to the lightest. Pairs grow with the
square of it. [tasks]"""
FEW_TASKS = 12
"""The number of tasks on a client up to which three may go together. There are as many threes as the cube of it. Without threes
a group of 1,000 tasks had a greatest load of 1.005 of its bound. [tasks]"""
CLIENTS_FOR_THREE = 300
"""The number of clients of a group up to which three tasks may go together. It bounds the time: more clients gain nothing by
threes, and take half as long again. [clients]"""
EVEN_STEPS = 3_000
"""The greatest number of moves and exchanges by which greedy evens loads out. It bounds the time by work (R9). A thousand evens
10,000 tasks out over 1,000 clients; four times as many gain 0.01%. [steps]"""
SPLITS = 12
"""The greatest divisor of the least weight that is tried as a common unit of all weights. Weights by hand are small numbers;
measured ones have no unit. [times]"""
CLASS_RATIO = 1.6
"""The ratio between the weights of two classes of tasks in a relaxation. With 1.3 and 1.06 CP-SAT proves less of 1,000 × 100 in
its time. Room is rarely short, so coarse classes do. [times]"""
POOLED_WORK = 1.0
"""The deterministic time of CP-SAT for a program with classes of weights. It decides groups at rest in less. [work]"""
ROOMY_CANDIDATES = 2
"""The number of clients with room among the candidates of a task, when a plan under load is improved. With none a task rarely
leaves its client for its pool; each adds a variable per task. [clients]"""
SEARCH_WORK = 2.0
"""The deterministic time of CP-SAT's large neighbourhood search under load. The limit does not depend on the machine (R9). With
half of it a scale-out of 1,000 × 100 restores a tenth more. [work]"""
EVEN_LOAD = 1.0003
"""The greatest load in even spreads that counts as even. The rest is not worth a move. [times]"""
ROUNDING = 1e-09
"""The tolerance of loads and weights. Sums of the same weights in another order differ by less. [share]"""

# Input: the values that a snapshot may hold.

LEAST_WEIGHT = 0.05
"""The least weight of a task, as a share of the mean. A thread at least polls for it. [share]"""
MOST_WEIGHT = 1000000000.0
"""The greatest weight of a task, a change or a limit. It is far above any ratio of rates, and sums of it are exact enough.
[times]"""
MOST_AHEAD_MS = 604_800_000
"""The time by which a date may be ahead of the clock. A later one is of a wrong clock or of a liar; all later answers would
have to be dated after it. [ms]"""
ACCEPTABLE_LAG = 10_000
"""The lag up to which a copy is caught up, if the group does not say. It is Kafka's default. [offsets]"""
LEAST_CAPACITY = 1e-06
"""The least capacity of a thread. A smaller one is a mistake of units. [times]"""
MOST_CAPACITY = 1000000.0
"""The greatest capacity of a thread. A greater one is a mistake of units. [times]"""

# How rates of input and lags are measured, and when loads differ by enough to move tasks.

HALF_LIFE_MS = 28_800_000
"""The age at which a measurement of a rate counts half. A day's curve moves weights a little, an hour's peak hardly. [ms]"""
LEAST_MEASURED_MS = 1_000
"""The least time between two snapshots that tells a rate of input. Two passes of one rebalance come sooner. [ms]"""
COUNTS_AFTER_MS = 60_000
"""The time that a rate has to be measured until it weighs tasks. A few seconds of any input are mostly chance. [ms]"""
EARLY_MS = 100
"""The time by which a date in a snapshot or a report may be early. Kafka and reports round instants. [ms]"""
LOAD_TOLERANCE = 0.05
"""The default tolerance of the greatest load. Rates differ by more from one hour to the next. [share]"""
LEAST_LOAD_GAIN = 0.05
"""The default of the least fall of the greatest load, in even spreads, for which tasks move. A smaller gain does not pay for
restoring. [share]"""

# The service and its recordings: how much it keeps, how long it waits (docs/reference/configuration.md).

LONGEST_TIMEOUT_MS = 60_000
"""The longest time-out of a plug-in. A group stands still while its leader waits. [ms]"""
PROGRESS_COPIES = 100
"""The number of copies of one report on progress: those with the most to restore. A page shows no more. [copies]"""
PROGRESS_EVERY_MS = 5_000
"""The least time between two reports on progress of an instance. A reader of the page sees copies move. [ms]"""
