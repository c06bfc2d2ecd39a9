"""The goals of the target, (a) to (f) of docs/reference/rules.md: each file lists those of one concept as `GOALS`."""
