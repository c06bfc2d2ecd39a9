"""The goals of this rebalance on its way to the plan, one file each: goals (i) to (v) of docs/reference/rules.md."""
