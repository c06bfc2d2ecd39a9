"""How Kafka itself goes about it: what `high_availability` and `sticky` are made of, down to the order of a Java HashMap."""
