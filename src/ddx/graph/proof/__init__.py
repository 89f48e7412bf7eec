"""Documents that prove: commands to run (execution documents) and numbers to watch (metrics).

`definitions` and `measuring` are what they say and mean, `catalog` finds them, `running` runs one,
`records` keeps what came of it.
"""
