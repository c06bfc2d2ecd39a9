"""Plans and answers without a solver."""
