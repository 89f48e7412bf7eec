"""`ddx exec`: its commands by what they are for."""
