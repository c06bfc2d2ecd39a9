"""A soak: service, broker and applications run under faults for an hour, while memory, descriptors, threads and disk are
checked for growth."""
