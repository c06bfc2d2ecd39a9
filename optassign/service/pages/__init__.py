"""The operators' pages, as HTML and as JSON: applications, their rebalances with explanations, and what-if questions
(docs/how-to/monitor.md).

Separate processes make the pages, so that no rebalance waits for a page.
"""
