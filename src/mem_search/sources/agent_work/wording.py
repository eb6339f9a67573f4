"""The words of ``wording.toml``, in several languages: kinds of work, and choosing one way."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, cast

from mem_search.patterns import LazyPattern, pattern

_FILE: Final = Path(__file__).with_name("wording.toml")
_LISTED: Final = pattern(r"<(\w+)>")


class _WordedPattern(LazyPattern[str]):
    """A pattern that reads its words at its first use: a start needs none of them."""

    def source(self) -> str:
        return _expanded(self.pattern)


def worded(template: str) -> re.Pattern[str]:
    """A pattern in any case of letters; ``<name>`` stands for one entry of the list ``name``."""
    return cast("re.Pattern[str]", _WordedPattern(template, re.IGNORECASE))


def any_of(*names: str) -> re.Pattern[str]:
    """Finds an entry of these lists where it begins at the beginning of a word."""
    return worded(rf"(?:\b|(?=\W))(?:{'|'.join(f'<{name}>' for name in names)})")


def _expanded(template: str) -> str:
    return _LISTED.sub(lambda found: _one_of(found[1]), template)


def _one_of(name: str) -> str:
    entries = (_expanded(entry.replace("’", "['’]")) for entry in _lists()[name])
    return f"(?:{'|'.join(entries)})"


@cache
def _lists() -> dict[str, list[str]]:
    with _FILE.open("rb") as file:
        found: dict[str, list[str]] = tomllib.load(file)
    return found
