"""Between formats and arrays: a snapshot is read into a situation, and a step is written as an answer."""
