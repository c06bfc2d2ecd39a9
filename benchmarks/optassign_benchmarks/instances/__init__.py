"""A fixed set of instances with best-known values, on which assignors compete (docs/how-to/instances.md)."""
