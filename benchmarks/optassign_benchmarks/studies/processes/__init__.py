"""The service, its pages, a real broker and Spark, as processes."""
