"""The tunables of behaviour, as data: `policy.toml` has each with its unit, its reason and its evidence.

The constants here, and the classes of `io.github.optassign.policy`, are made from it by `make policy`.
"""
