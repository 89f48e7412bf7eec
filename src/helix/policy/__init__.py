"""What to do next and how freely: decisions from a value to a value, nothing of the world."""
