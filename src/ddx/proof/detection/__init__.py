"""How a repository is tested, built and set up, read from its own files (R-1 to R-3)."""
