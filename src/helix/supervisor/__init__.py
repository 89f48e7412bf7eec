"""`helix run`: look, decide, carry out, write down; again until it ends (S-1 to S-38)."""
