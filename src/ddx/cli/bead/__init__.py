"""`ddx bead`: its commands by what they are for."""
