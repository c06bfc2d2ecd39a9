"""Random histories: groups that are changed again and again, played until they rest, and graded."""
