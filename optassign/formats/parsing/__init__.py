"""From JSON and TOML to the types, and what is said of what cannot be read."""
