"""Putting HELIX into a repository and onto a machine, and taking it away again."""
