"""The JSON formats as types, and the readers of JSON and TOML."""
