"""HTTP: bodies, headers, errors, limits, the description of the pages."""
