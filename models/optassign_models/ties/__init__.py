"""Differences between plans that are the same to every goal."""
