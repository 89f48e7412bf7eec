"""`ddx metric`: one module a command."""
