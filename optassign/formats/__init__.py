"""The JSON formats as types, and reading them."""
