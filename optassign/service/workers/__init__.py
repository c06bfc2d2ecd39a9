"""The processes that solve: what they are told, what they do, and which of them answers a request in time."""
