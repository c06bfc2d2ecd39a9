"""Studies of the service, its pages, a real broker and Spark, run as processes."""
