"""Messages of Kafka that kafka-python does not know, as JSON."""
