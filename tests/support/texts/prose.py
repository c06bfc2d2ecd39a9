"""Measures of the style in CONTRIBUTING.md: openings without a head, listed words, long sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_OPENING = re.compile(
    r"(?:Who|Whoever|Whom|Whose|What|Whatever|Where|Of|Beside|Else|Towards|Without|So (?:many|much|long|soon|often))\b[^?]*$"
)
"""A clause without a head at the start of a sentence; questions do not count."""
_LISTED = re.compile(
    r"\b(?:nobody|anybody|everybody|somebody|ours|theirs|shall|else|beside|meanwhile|by and by|the less the better|as far as"
    r"|so many|those that|that which|of whom|by whom|of which|mend(?:ed|s)?|bury|looks? at)\b",
    re.IGNORECASE,
)
_LONG, _VERY_LONG = 25, 30
"""Numbers of words: the style's limit, and the limit for readability."""
_FEWEST = 4
"""Least number of words of a sentence; shorter texts are labels."""
_NO_PROSE = (
    (re.compile(r"```.*?```|<!--.*?-->", re.DOTALL), " "),
    (re.compile(r"^\s*(?:\||#).*$", re.MULTILINE), " "),
    (re.compile(r"`[^`]*`"), "X"),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"[*_]"), ""),
)


@dataclass(frozen=True)
class Style:
    """Shares of sentences that break a rule, in percent."""

    sentences: int
    dialect: float
    """Sentences with an opening without a head, or a listed word."""
    long: float
    """Sentences of more than 25 words."""
    very_long: float
    """Sentences of more than 30 words."""


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text. Code counts as one word; tables, headings and fenced blocks are left out."""
    for pattern, replacement in _NO_PROSE:
        text = pattern.sub(replacement, text)
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text):
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z])", " ".join(paragraph.split())):
            if len(sentence.split()) >= _FEWEST:
                yield sentence


def is_dialect(sentence: str) -> bool:
    """Return whether a sentence opens without a head or has a listed word."""
    return bool(_OPENING.match(sentence) or _LISTED.search(sentence))


def measure(texts: Iterable[str], exceptions: Iterable[str] = ()) -> Style:
    """Return the style of all sentences of some texts; an exception excuses the sentence that contains it."""
    excused = tuple(exceptions)
    found = [sentence for text in texts for sentence in split_sentences(text)]
    judged = [sentence for sentence in found if not any(words in sentence for words in excused)]

    def share(count: int) -> float:
        return 100 * count / max(1, len(found))

    lengths = [len(sentence.split()) for sentence in found]
    return Style(
        sentences=len(found),
        dialect=share(sum(map(is_dialect, judged))),
        long=share(sum(length > _LONG for length in lengths)),
        very_long=share(sum(length > _VERY_LONG for length in lengths)),
    )
