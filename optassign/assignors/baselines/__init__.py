"""The baselines: the assignors in use today, and those of the source documents."""
