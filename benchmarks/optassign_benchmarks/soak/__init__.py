"""A soak: service, broker and applications under faults for an hour, and whether memory, descriptors, threads or disk grow."""
