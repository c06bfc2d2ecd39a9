"""Answering rebalances, taking reports, comparing, and what is remembered from one to the next."""
