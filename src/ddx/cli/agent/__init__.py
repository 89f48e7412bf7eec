"""`ddx agent`: one module a command."""
