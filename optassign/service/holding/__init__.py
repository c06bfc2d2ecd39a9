"""Operators' requests: pause, drain a client, replan; quiet hours and limits (docs/how-to/pause-and-drain.md)."""
