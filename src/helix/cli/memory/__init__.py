"""`helix memory`: its commands by what they are for."""
