"""Reading: four readers of a snapshot, and the situation that they make together."""
