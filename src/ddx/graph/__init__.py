"""Intent as a graph: documents with an order of authority, and what follows from a change."""
