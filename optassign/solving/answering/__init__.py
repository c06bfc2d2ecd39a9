"""From a step in arrays to the answer that goes out: ids, values of goals, bounds, notes."""
