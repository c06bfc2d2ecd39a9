"""The goals of an answer."""
