"""Names from outside, as a page may show them: whoever chose them must not decide how the page looks."""

import unicodedata

__all__ = ["shorten_name", "show_hidden"]

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of Unicode that cannot be seen, among them the marks that turn the direction of a text."""


def show_hidden(name: str) -> str:
    """The name with an escape of four digits for each character that cannot be seen."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character) in _HIDDEN else character for character in name
    )


def shorten_name(name: str, longest: int) -> str:
    """The name, without what cannot be seen; of a longer one the beginning and the end."""
    shown = show_hidden(name)
    if len(shown) <= longest:
        return shown
    tail = longest // 3
    return f"{shown[: longest - tail - 1]}…{shown[-tail:]}"
