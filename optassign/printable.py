"""Text from outside in lines of our own. The module imports nothing, as the command line needs it before all other modules."""

__all__ = ["escape_unprintable"]


def escape_unprintable(text: str) -> str:
    """The text as one line: characters that cannot be printed (newlines, escapes, half of a surrogate pair) are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
