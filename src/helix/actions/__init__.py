"""Companion actions: each one bounded agent pass, by hand or inside a run (A-1 to A-10)."""
