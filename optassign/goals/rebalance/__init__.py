"""The goals of this rebalance on its way to the plan, one file each: goals (i) to (iv) of docs/rules.md."""
