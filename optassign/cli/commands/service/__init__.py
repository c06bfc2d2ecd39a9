"""Commands that start the service or the watcher, or send requests to them."""
