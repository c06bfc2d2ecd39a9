"""Copies dealt, exchanged and shed by rules of thumb: an answer at every size, and a start for the programs."""
