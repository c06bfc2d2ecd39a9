"""The studies behind docs/data; `STUDIES` lists them.

A study is one record or several: `Study` or `PlayedStudy` (`optassign_benchmarks.runner`), or `RepeatedStudy` (`.repeated`).
"""

__all__ = ["STUDIES"]

STUDIES = {
    "speed": "speed:SPEED",
    "convergence": "convergences:CONVERGENCE",
    "rules": "convergences:RULES",
    "time-to-balance": "time_with_faults:TIME_TO_BALANCE_AND_FAULTS",
    "lost-tasks": "lost_tasks:LOST_TASKS",
    "uneven-load": "uneven_load:UNEVEN_LOAD",
    "cold-starts": "cold_starts:COLD_STARTS",
    "load": "load:LOAD",
    "planner-load": "load:PLANNER_LOAD",
    "shards": "shards:SHARDS",
    "weights": "weights:WEIGHTS",
    "orders": "orders:ORDERS_OF_GOALS",
    "proofs": "speed:PROOFS",
    "tags": "tags:TAGS",
    "racks": "racks:RACKS",
    "jvm-planner": "convergences:JVM_PLANNER",
    "baselines": "convergences:BASELINES",
    "kafka-warm-ups": "kafka_warm_ups:WARM_UPS",
    "own-arrangement": "arrangements:OWN_ARRANGEMENT",
    "failover": "arrangements:FAILOVER",
    "next-to-kafka": "speed:NEXT_TO_KAFKA",
    "adopting": "processes.adopting:ADOPTING",
    "rolling-restarts": "processes.rolling_restarts:ROLLING_RESTARTS",
    "streams-groups": "processes.streams_groups:STREAMS_GROUPS",
    "broker-faults": "processes.broker_faults:BROKER_FAULTS",
    "group-start": "processes.group_start:GROUP_START",
    "pages": "processes.pages:PAGES",
    "capacity": "processes.capacity:CAPACITY",
    "at-rest": "processes.at_rest:AT_REST",
    "in-time": "processes.in_time:IN_TIME",
    "workers": "processes.workers:WORKERS",
}
"""Name of a study and of its file in docs/data → module in studies/ and its record or records.

A module is imported when its study runs: some need a Kafka client, the service's packages or Spark.
"""
