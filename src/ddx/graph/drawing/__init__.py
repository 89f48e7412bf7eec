"""The graph to look at.

`scene` chooses what is drawn; `languages` writes it for other programs; `layout` and `routes` place
it, and `picture` draws it with the colours of `palette` and the letters of `lettering`. All pure.
"""
