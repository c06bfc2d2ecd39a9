"""Goals (d) to (f) of the plan as linear programs on the optimal face of the copies' flow: sparse, nearly always integral."""
