"""The processes that solve: their messages, their jobs, and the assignment of requests to processes."""
