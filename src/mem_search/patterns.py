"""Regular expressions that are compiled when they are first used.

A start needs few of the hundreds that the modules name, and compiling them all was a third of its
imports. ``tests/test_patterns.py`` compiles every one, so that a broken one does not wait for its
first use.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

_PARTS = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "search",
    "split", "sub", "subn",
)  # fmt: skip


class LazyPattern(Generic[AnyStr]):
    """Stands for ``re.compile(source, flags)``: the first use compiles it and takes its methods."""

    def __init__(self, source: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = source
        self._flags = flags

    def source(self) -> AnyStr:
        """What is compiled."""
        return self.pattern

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for what is not there yet. Copying and pickling ask for others.
        if name not in _PARTS:
            raise AttributeError(name)
        compiled = re.compile(self.source(), self._flags)
        vars(self).update((part, getattr(compiled, part)) for part in _PARTS)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"pattern({self.pattern!r}, {self._flags!r})"


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """``re.compile``, but not before the first use.

    Functions of ``re`` do not take the result: call its methods.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))
