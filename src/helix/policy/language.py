"""Whether a sentence is in a language that we do not read, as far as small words tell. Pure.

Only English is understood. A word that means something in two languages ("use", "will") must not
make a request of another one look understood.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_LAST_LATIN = "\u024f"
_ENGLISH_WORDS = """
    add all allow and are be build by change create delete every fix for from have improve it let
    make must of our remove rename replace should support that the their them there this to update
    users we when where which with write you
"""
# German, French, Spanish and Portuguese, Italian, Dutch, Swedish, Polish.
_OTHER_WORDS = """
    alle auf aus bei das dass dem der ein eine einem einen einer es für ist kein keine mit nach
    nicht oder sind soll statt und von vom wenn wird zu zum zur
    au aux avec ce cette dans des du elle est et il ils la le les leur mais nous ou pas pour que
    qui une vous
    como de el em esta este las los más não nas para pero por sem sua suas uma una unas y
    che della delle di gli nel più sono
    een het niet voor wij zijn
    att det där från inte och som är
    dla jest lub na nie się że
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHERS = frozenset(_OTHER_WORDS.split())


def is_foreign(sentence: str) -> bool:
    """It is written in other letters, or more of its small words are of other languages."""
    letters = [mark for mark in sentence if mark.isalpha()]
    if sum(mark > _LAST_LATIN for mark in letters) * 2 > len(letters):
        return True
    first, *rest = _WORD.findall(sentence) or [""]
    words = [first.casefold(), *rest]  # a capital inside a sentence is that of a name
    return sum(word in _OTHERS for word in words) > sum(word in _ENGLISH for word in words)
