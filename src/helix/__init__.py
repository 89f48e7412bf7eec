"""The policy: what to do next, and how freely."""
