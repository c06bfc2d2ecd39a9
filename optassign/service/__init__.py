"""The service behind the Kafka plug-in: HTTP in front, worker processes that solve behind it (docs/reference/http.md)."""
