"""The goals of the plan, one file each: goals (a) to (f) of docs/reference/rules.md."""
