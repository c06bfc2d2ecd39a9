"""The target as one integer program, in the letters of docs/explanation/model.md.

| variables (`variables.py`) | |
|---|---|
| y, a (t, c) | the task has a copy on this candidate; it is active there |
| p, pa (t, z) | its copies in the pool of zone z, and whether its active is one of them |
| q, qa (g, c) | copies of pools on a client, by subtopology, and the actives among them |
| m, ma (g), (c) | the same on merged places: by subtopology, and by client, but not by both |

| rows (`constraints.py`) | |
|---|---|
| Σ y + Σ p = s + 1; Σ a + Σ pa = 1 | for each task (R4, R1) |
| Σ p = Σ q + m(g); Σ pa = Σ qa + ma(g) | for each pool: copies of tasks are on places |
| Σ m(g) = Σ m(c); Σ ma(g) = Σ ma(c) | for each zone: merged places add up |
| a ≤ y; pa ≤ p; qa ≤ q; ma ≤ m | an active copy is a copy (R2) |
| low ≤ count ≤ high | every share; as a cost also beyond it, at a rising price |

An answer for this very rebalance has the same rows: R3 and R5 take candidates away, as bounds of variables.

`question.py` says what is asked, and `objectives.py` writes each goal as one linear form. `solver.py` minimises forms in their
order, by CP-SAT or by HiGHS and duals, on the same arrays. `deal.py` gives the places of pools to tasks, and `search.py` puts
all together.

Places for pooled copies are many (subtopologies × clients) and few of them matter. A place is *told apart* if a least number of
copies or actives is asked for. The others are *merged*: the program has how many pooled copies of a subtopology are on merged
places, and how many such copies a client has, but no finer numbers.

Clients that goals or limits tell apart are in different zones. Each subtopology has a pool in each zone: g stands for both.

Left out are R2 between pooled copies and the upper bounds of merged places, so the optimum is a bound; where places can be
dealt, it is a target.
"""
