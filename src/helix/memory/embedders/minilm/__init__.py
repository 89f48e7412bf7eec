"""all-MiniLM-L6-v2 in plain numpy, with its weights beside it: no torch, no download (M-5)."""
