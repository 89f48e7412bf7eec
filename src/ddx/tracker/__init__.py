"""The work queue: beads, kept in one file that survives people, agents and git."""
