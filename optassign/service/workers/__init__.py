"""The processes that solve, and the way to them."""
