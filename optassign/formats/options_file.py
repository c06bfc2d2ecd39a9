"""Options from a TOML file."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from optassign.formats.configs import Options


def read_options(path: Path) -> Options:
    """Options from a TOML file, with the names they have in a snapshot's `options`.

    Raises ValueError, in one line with place, found and allowed, for what cannot be read or is not right.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}; allowed: a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    try:
        return Options.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{path}: {place}: {first['msg']}") from None
