"""The substrate: what is true, and how work is carried out."""

__version__ = "0.1.0"
