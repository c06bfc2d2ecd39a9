"""An application on a real broker that recovers from an event: its state before it, samples of it, and their judgement."""
