"""Commands that start the service or the watcher, send requests to the service, or read its recordings."""
