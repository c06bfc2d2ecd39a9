"""Escaping of text from outside, before it is shown. Imports nothing large: the command line needs this module first."""

import unicodedata


def escape_unprintable(text: str) -> str:
    """Return the text as one line, with unprintable characters (newlines, escapes, unpaired surrogates) escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of invisible characters, such as marks that change the direction of text."""


def show_hidden(name: str) -> str:
    """Return the name with each invisible character as a hexadecimal escape of four or five digits."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character) in _UNSEEN else character for character in name
    )


def shorten_name(name: str, longest: int) -> str:
    """Return the name with invisible characters escaped; if over `longest` characters, only its beginning and its end."""
    shown = show_hidden(name)
    if len(shown) <= longest:
        return shown
    tail = longest // 3
    return f"{shown[: longest - tail - 1]}…{shown[-tail:]}"
