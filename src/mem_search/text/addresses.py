"""The people in a header of addresses, such as ``Ann Lee <ann@example.org>, bob@example.org``."""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import getaddresses


def addresses(headers: Iterable[str]) -> list[tuple[str, str]]:
    """The (name, address) of each person; either may be empty. Any text is fine; nothing raises.

    A header that the standard parser cannot read is one name.
    """
    found: list[tuple[str, str]] = []
    for header in headers:
        try:
            found += getaddresses([header])
        except (RecursionError, ValueError, IndexError):
            # It calls itself for each nested comment and group, and reads past the end of some.
            found.append((header, ""))
    return found
