"""Commands that play many rebalances, here or on Spark, and what they share."""
