"""The target as one integer program, in the letters of docs/explanation/model.md, "Target".

`question.py` says what is asked. `variables.py` declares y, a, p, q and m of that page, and `constraints.py` adds the rows.
`solver.py` writes goals as linear forms and minimises them in their order, by CP-SAT or by HiGHS and duals.
`deal.py` gives the places of pools to tasks, and `search.py` puts all together.

An answer for this very rebalance has the same rows: R3 and R5 take candidates away, as bounds of variables.

Places for pooled copies are many (subtopologies × clients) and few of them matter. A place is *told apart* if a least number of
copies or actives is asked for. The others are *merged*: the program has how many pooled copies of a subtopology are on merged
places, and how many such copies a client has, but no finer numbers.

Clients that goals or limits tell apart are in different zones. Each subtopology has a pool in each zone: g stands for both.

Left out are R2 between pooled copies and the upper bounds of merged places, so the optimum is a bound; where places can be
dealt, it is a target.
"""
