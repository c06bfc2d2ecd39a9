"""The goals of the plan, goals (a) to (f) of docs/reference/rules.md: each file lists those of one concept as `GOALS`."""
