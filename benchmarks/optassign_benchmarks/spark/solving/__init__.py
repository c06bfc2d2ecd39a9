"""The process that solves a row: started, watched, limited."""
