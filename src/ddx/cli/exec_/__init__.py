"""`ddx exec`: one module a command."""
