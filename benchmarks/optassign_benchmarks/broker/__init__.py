"""The broker's side of a streams group (KIP-1071): a real broker, simulated members, and what happens to each task."""
