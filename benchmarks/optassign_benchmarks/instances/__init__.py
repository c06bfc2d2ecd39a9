"""A fixed set of instances with best-known values, for comparing assignors (docs/how-to/instances.md)."""
