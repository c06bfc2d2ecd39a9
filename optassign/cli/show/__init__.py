"""The output for people: tables, pictures, progress, and its destination."""
