"""`helix memory`: one module a command."""
