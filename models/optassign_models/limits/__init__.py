"""An operator's limits on placements (docs/reference/rules.md, "Limits"): as constraints, as a heuristic, and why they
contradict."""
