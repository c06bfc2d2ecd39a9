"""The one model of a plan as a linear program: variables, constraints and objectives, each a small named piece.

| variables (`variables.py`) | |
|---|---|
| y(column), p(t) | copies on columns, and in the task's pool |
| q(g, c) | pooled copies of the subtopology on the client, where that place is told apart |
| r(g), r(c) | pooled copies on merged places, by subtopology and by client |
| a(column), f(t), b(g, c), m(g), m(c) | the same for active copies; of tasks without changelog they are the only ones |

| rows (`constraints.py`) | |
|---|---|
| Σ y + p = standbys + 1; Σ a + f = 1 | for each task (R1, R4) |
| Σ p = Σ q + r(g); Σ f = Σ b + m(g) | for each subtopology: pools add up |
| Σ r(g) = Σ r(c); Σ m(g) = Σ m(c) | merged places add up: those of copies, and of each kind of actives |
| a ≤ y; f ≤ p; b ≤ q; m ≤ r | an active copy is a copy (R2) |
| low ≤ count ≤ high | every share; as a cost also beyond it, at a rising price |

Places for pooled copies are many (subtopologies × clients) and few of them matter. A place is *told apart* if a least number of
copies or actives is asked for. The others are *merged*: the program has how many pooled copies of a subtopology are on merged
places, and how many such copies a client has, but no finer numbers. `reading.py` deals them afterwards.

Clients that goals or limits tell apart are in different zones (`pools.py`). Each subtopology has a pool in each zone
(`Zones.find_pools`): g stands for both.

Left out are R2 between pooled copies and the upper bounds of merged places, so the optimum is a bound; where the vertex is
whole and places can be dealt, it is a plan.
"""
