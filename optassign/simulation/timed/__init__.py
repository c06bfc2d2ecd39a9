"""An application over hours: a scenario played second by second under one assignor, and what its users feel of it."""
