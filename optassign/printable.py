"""Text from outside, as it may be shown. The module imports nothing large, as the command line needs it before all others."""

import unicodedata

__all__ = ["escape_unprintable", "shorten_name", "show_hidden"]


def escape_unprintable(text: str) -> str:
    """The text as one line: characters that cannot be printed (newlines, escapes, half of a surrogate pair) are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of Unicode that cannot be seen, among them the marks that turn the direction of a text."""


def show_hidden(name: str) -> str:
    """The name with an escape of four digits for each character that cannot be seen."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character) in _UNSEEN else character for character in name
    )


def shorten_name(name: str, longest: int) -> str:
    """The name, without what cannot be seen; of a longer one the beginning and the end."""
    shown = show_hidden(name)
    if len(shown) <= longest:
        return shown
    tail = longest // 3
    return f"{shown[: longest - tail - 1]}…{shown[-tail:]}"
