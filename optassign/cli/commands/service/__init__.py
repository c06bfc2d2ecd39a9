"""Commands that start the service or the watcher, or speak to them."""
