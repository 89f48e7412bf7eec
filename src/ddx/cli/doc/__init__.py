"""`ddx doc`: its commands by what they are for."""
