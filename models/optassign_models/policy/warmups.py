"""Which copies on target get the warm-up slots (docs/reference/rules.md, "Warm-ups").

Made from policy.toml by `make policy`.
"""

PATIENCE = 3
"""The number of answers over which the lag of a copy may stay before the copy goes to the end of the queue (R11). One answer
may come between two fetches of the restore consumer; a copy that never restores must not block a slot. [answers]"""
SOON_S = 300.0
"""The restore time up to which no state at risk goes before the rest. Kafka deletes state without a role after ten minutes by
default; half of that is safe. [s]"""
TOGETHER = 0.1
"""The share of the time within which copies end together. Copies that end together need one follow-up. [share]"""
STAGE_FITS = 1.02
"""The factor on the length of a stage that its copies may take. Sums of fractions are not exact. [times]"""
LEAST_LACK = 2
"""The number of active tasks that some client must lack before warm-ups come in stages. With one task lacking everywhere, each
stage would be a rebalance of its own. [copies]"""
