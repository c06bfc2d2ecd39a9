"""The baselines: what people run today, and what the source documents describe."""
