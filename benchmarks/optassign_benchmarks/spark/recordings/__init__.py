"""Recordings as the replay takes them: decoded on executors, at a multiple of their size, or generated for a benchmark."""
