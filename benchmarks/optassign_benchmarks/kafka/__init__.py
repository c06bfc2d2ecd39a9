"""A real Kafka cluster on this machine, for tests and studies: brokers, groups under both protocols, load, service, faults."""
