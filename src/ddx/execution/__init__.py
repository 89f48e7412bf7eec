"""Managed attempts: an agent edits in isolation, we prove, land or preserve (X-1 to X-27)."""
