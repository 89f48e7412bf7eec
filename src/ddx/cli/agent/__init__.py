"""`ddx agent`: its commands by what they are for."""
