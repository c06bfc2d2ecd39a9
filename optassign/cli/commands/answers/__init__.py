"""Commands about one snapshot and the answers to it."""
