"""What can be wrong with a tracker, and how it is mended without losing a word.

`links` judges what beads point at, `findings` a file and its rows, `broken` reads what nobody else
can; `checkup` examines, `repair` decides the cure, `treatment` carries it out.
"""
