"""`helix objective ...`"""
