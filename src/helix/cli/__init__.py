"""The `helix` command."""
