"""`helix task ...`"""
