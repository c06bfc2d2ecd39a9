"""The operators' pages as data, made from the recordings: templates render the data as HTML, machines read it as JSON."""
