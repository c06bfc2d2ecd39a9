"""The time after answers: chains of rebalances until a group rests, and hours of an application."""
