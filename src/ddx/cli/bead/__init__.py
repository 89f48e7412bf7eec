"""`ddx bead`: one module a command."""
