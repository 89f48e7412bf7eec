"""Adapters to agent programs: what to start, how to read it, what its ending means (X-4)."""
