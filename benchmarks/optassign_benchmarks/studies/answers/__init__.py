"""Single answers: their quality, and their cost."""
