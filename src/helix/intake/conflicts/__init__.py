"""Contradictions between documents (I-5)."""
