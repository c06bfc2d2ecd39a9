"""The operators' pages as data, made from the recordings: templates make HTML of the data, machines read it as JSON."""
