"""What the operator's pages show, as data, made from the recordings: templates make HTML of it, machines get it as JSON."""
