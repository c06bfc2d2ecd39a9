"""HTTP: the machine pages, the gateway before all pages, the format of requests, and refusals."""
