"""The output for people: tables, pictures, progress."""
