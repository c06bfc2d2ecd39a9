"""The report on a run: queries, pictures, HTML and Markdown."""
