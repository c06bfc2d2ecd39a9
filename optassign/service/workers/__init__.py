"""The processes that solve: their messages, their jobs, and the choice of a process for each request."""
