"""HTTP: the pages, the gateway before all of them, the form of requests and their refusal."""
