"""The operator's pages: applications, their rebalances and why, what would happen if; the same as JSON
(docs/how-to/monitor.md).

Pages are made in processes of their own, so that no rebalance waits for one.
"""
