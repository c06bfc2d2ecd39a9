"""What operators ask for: hold still, drain a client, forget the plan; quiet hours and limits
(docs/how-to/pause-and-drain.md)."""
