"""The operator's pages as data, made from the recordings: templates make HTML from it, machines get it as JSON."""
