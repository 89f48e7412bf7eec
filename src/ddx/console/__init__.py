"""What both commands, `ddx` and `helix`, are made of: command tables, click, errors, the screen."""
