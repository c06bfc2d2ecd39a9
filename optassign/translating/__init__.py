"""Translation between formats and arrays: a snapshot into a situation, and a step of the solver into an answer."""
