"""A real Kafka cluster on this machine: broker, Kafka Streams processes, load, service and faults, for tests and studies."""
