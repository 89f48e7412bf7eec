"""The `ddx` command."""
