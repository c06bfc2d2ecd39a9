"""From a snapshot to an answer: arrays, stages, methods, report."""
