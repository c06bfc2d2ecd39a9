"""What tells plans apart that are the same to every goal."""
