"""Requests to the brokers, by kafka-python: the extra `inspect`. Nothing is written, no group is joined."""
