"""`ddx doc`: one module a command."""
