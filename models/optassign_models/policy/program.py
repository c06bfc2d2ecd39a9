"""The one model, flows and CP-SAT: how large they get and when they end (docs/explanation/model.md).

Made from policy.toml by `make policy`.
"""

UNPOOL_ROUNDS = 5
"""The number of times that a flow is solved again after pools that broke R2 were written out as columns. Each time fewer pools
are left; the last time all are written out. [rounds]"""
GLOP_UP_TO = 100_000
"""The number of free variables up to which GLOP solves a linear program. HiGHS is faster beyond it. [variables]"""
ITERATIONS = 2_000_000
"""The greatest number of iterations of a linear program. The limit does not depend on the machine (R9); no program met so far
needed a tenth of it. [steps]"""
NODES = 2_000
"""The greatest number of nodes of a program in whole numbers. The limit does not depend on the machine (R9). [steps]"""
SCALED_BITS = 13
"""The bits of the greatest cost in the solver. The solver's tolerances are absolute, so large costs would hide small ones.
[steps]"""
DUAL_PARTS = 12
"""The denominator to which duals are rounded. Most duals of these programs are whole, the others halves or thirds. [steps]"""
FIRST_STEPS = (4, 4, 4, 2, 2)
"""The steps of each share at first: two of a client, one of its actives, two of a subtopology. Few are used where a plan is
good. [steps]"""
MOST_FIRST_STEPS = 64
"""The greatest number of first steps of a share that a count is further from. Each step is a variable. [steps]"""
TOLD_APART_ROUNDS = 8
"""The number of times that a program is solved again with places told apart or pools written out as columns. No group met so
far needed six. [rounds]"""
MERGE_FROM = 20_000
"""The number of places from which equal ones are merged. There are fewer variables, but the relaxation is weaker and has to be
told apart. [variables]"""
SAME = 0.001
"""The distance from a whole number up to which a value is that number. Costs are whole. [share]"""
MOST_WHOLE = 60_000
"""The number of free variables up to which branch and bound has a program in whole numbers. It bounds the time: each node of
branch and bound solves the program once. [variables]"""
SEARCHED_WHOLE = 10_000
"""The number of free variables up to which branch and bound searches to the end. Beyond it, 17 s were seen for the last
millionth. [variables]"""
MOST_TIED = 10_000
"""The number of columns up to which the last tie has a program of its own. Operators of larger groups do not ask for the least
id. [variables]"""
LITTLE = 1_000
"""A value of a larger program may be above its bound by one part in this many: 0.1%. The last part of a thousandth costs most
of the time. [times]"""
MOST_LONGER = 12
"""The number of times that a program is built again with more steps. The number of steps at least doubles each time.
[rounds]"""
SECONDS_PER_VARIABLE = 6e-06
"""The time for a variable, for each stage and class of clients. Programs of several classes take as long; those of one class
take up to six times as long, and end in time. [s]"""
SECONDS_PER_PAIR = 7e-06
"""The time for a pair of the face, before the solver of a linear program heeds the deadline. A program begins only if that much
time is left. [s]"""
SECONDS_PER_ARC = 1.5e-05
"""The time of the flows of copies, for each task, column and cell. It was the most that was measured; flows cannot be
interrupted. [s]"""
SMALL_PAIRS = 20_000
"""The number of pairs of task and client up to which a group is small: CP-SAT considers each pair, and flows pool no clients.
CP-SAT finds nothing in larger groups within the time; there pools save most of the time of flows. [pairs]"""
CP_SAT_WORK = 2.0
"""The deterministic time of CP-SAT for each stage: about seconds. The limit does not depend on the machine (R9). [work]"""
LITTLE_WORSE = 50
"""A remembered plan may be worse by one part in this many: 2%. A new plan would give up copies on their way for next to
nothing. [times]"""
MIGRATIONS_PER_CHANGELOG = 5
"""The number of further migrations that are worth the restoring of a mean changelog. A migration takes seconds, restoring takes
minutes. [times]"""
MOST_LOOKS = 4
"""The number of looks at a placement that keeps limits by single moves. A later rebalance would look again. [rounds]"""
LEAST_SECONDS = 0.01
"""The time limit below which greedy answers a group of any size. No flow ends within it. [s]"""
