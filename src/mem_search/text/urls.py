"""URLs in one normal form for every way of writing the same page. Pure, never raises."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote

from mem_search.patterns import pattern

_PARTS: Final = pattern(
    r"https?://(?:[^/?#\s]*@)?([^/?#\s]+)([^?#\s]*)(?:\?([^#\s]*))?", re.IGNORECASE
)
_DEFAULT_PORT: Final = pattern(r":(?:80|443)?\Z")
_TRACKING: Final = pattern(r"(?:utm_\w+|fbclid|gclid|ref_src)=", re.IGNORECASE)
_MARKS: Final = ".,;:!?*_~\u2026\u3002\uff0c\uff1b\uff09"
ENDS: Final = (
    r"\u3000-\u301f\uff00-\uff65"  # marks of Chinese, Japanese and Korean
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u0589\u05be\u05c3\u1362-\u1368"  # of other scripts
    r"\u00ab\u00bb\u2018-\u201f\u2026\u2039\u203a"  # quotation marks, an ellipsis
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # invisible characters
)
"""Characters, for a class of an expression, at which an address in a text ends."""

_ISSUE: Final = pattern(
    r"[^/]+/(?:[^/]+/)*?([^/]+)/(?:-/)?(?:issues|pull|pulls|merge_requests)/([0-9]{1,9})(?:/|\Z)"
)
_COMMIT: Final = pattern(r"[^/]+/.+/commits?/([0-9a-f]{7,40})\Z")


_MESSAGE_ID: Final = pattern(r"[^\s<>\x00-\x20\x7f]{1,450}@[^\s<>\x00-\x20\x7f]{1,450}")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost``, or an address of the loopback."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def of_note(path: str) -> str:
    """The address at which Obsidian opens the note in the file ``path``."""
    return f"obsidian://open?path={quote(path, safe='')}"


def message_id(header: str) -> str:
    """The id of a mail without its brackets; "" of what is not one."""
    bare = header.strip().strip("<>")
    return bare if _MESSAGE_ID.fullmatch(bare) else ""


def of_message(bare: str) -> str:
    """The address (RFC 2392) at which a mail program opens the mail with this ``message_id``."""
    return f"mid:{quote(bare, safe='@')}"


def normal_url(url: str) -> str:
    """Host, path and query of ``url``: no scheme, user, default port, fragment or tracking.

    "" when it has no host.
    """
    parts = _PARTS.match(url.strip())
    if parts is None:
        return ""
    host = _DEFAULT_PORT.sub("", parts[1].lower().removeprefix("www."))
    kept = [item for item in (parts[3] or "").split("&") if item and not _TRACKING.match(item)]
    path = parts[2].rstrip("/")
    return f"{host}{path}{'?' + '&'.join(kept) if kept else ''}" if host else ""


def issue_of(normal: str) -> tuple[str, str] | None:
    """(repository, number) of a normal URL of an issue or pull request, else None."""
    match = _ISSUE.match(normal)
    return (match[1].lower(), match[2]) if match else None


def commit_of(normal: str) -> str:
    """The hash in a normal URL of a commit, else ""."""
    match = _COMMIT.match(normal)
    return match[1] if match else ""


def without_trailing_marks(url: str) -> str:
    """``url`` from a sentence, without the punctuation that belongs to the sentence."""
    end = len(url)
    unopened = url.count(")") - url.count("(")
    while end:
        if url[end - 1] == ")" and unopened > 0:
            unopened -= 1
        elif url[end - 1] not in _MARKS:
            break
        end -= 1
    return url[:end]
