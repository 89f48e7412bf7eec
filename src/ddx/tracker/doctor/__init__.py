"""What can be wrong with a tracker, and how it is mended without losing a word.

`link_checks` judges what beads point at, `row_checks` a file and its rows, `damaged_file` reads
what nobody else can; `diagnosis` examines, `repair_plan` decides the cure, `repair` carries it out.
"""
