"""What earlier attempts taught, found again when it helps, with proof that it does."""
