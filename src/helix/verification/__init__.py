"""Does what landed hold, what came of it, and why is it there (V-1 to V-4)?"""
