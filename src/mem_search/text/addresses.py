"""The people in a header of addresses, such as ``Ann Lee <ann@example.org>, bob@example.org``."""

from __future__ import annotations

import email.utils
from collections.abc import Iterable
from functools import partial

_read = (
    # Newer Pythons give nobody for ``a@b.org <a@b.org>``, lest a program trust the wrong one of
    # the two (CVE-2023-27043). Mail is full of those, and nobody is trusted for his address here.
    partial(email.utils.getaddresses, strict=False)
    if getattr(email.utils, "supports_strict_parsing", False)
    else email.utils.getaddresses
)


def addresses(headers: Iterable[str]) -> list[tuple[str, str]]:
    """The (name, address) of each person; either may be empty. Any text is fine; nothing raises.

    A header that the standard parser cannot read is one name.
    """
    people: list[tuple[str, str]] = []
    for header in headers:
        try:
            people += _read([header])
        except (RecursionError, ValueError, IndexError):
            # It calls itself for each nested comment and group, and reads past the end of some.
            people.append((header, ""))
    return people
