"""Linear and whole-number programs under a greatest load, what bounds them, and searches around what they find."""
