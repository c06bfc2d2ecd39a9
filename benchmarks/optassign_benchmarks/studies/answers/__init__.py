"""What single answers are, and what they take."""
