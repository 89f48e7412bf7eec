"""Texts as vectors: the model that is shipped, and the ways to another one (M-5)."""
