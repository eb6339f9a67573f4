"""The address of a commit on the forge that a remote names. Nothing is asked of any server.

Whoever made a repository chose its remotes, so an address is made only of a host and a path with
ordinary letters, and never has who logs in.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.git.places import Place, Refused, remotes_of
from mem_search.patterns import pattern

_WEB: Final = pattern(
    r"(?P<scheme>https?)://(?:[^@/\s]*@)?(?P<host>[a-z0-9.-]+)(?P<port>:\d{1,5})?/(?P<path>.+)",
    re.IGNORECASE,
)
_OTHER: Final = pattern(
    r"(?:(?:ssh|git|git\+ssh)://(?:[^@/\s]*@)?(?P<host>[a-z0-9.-]+)(?::\d{1,5})?/"
    r"|(?:[^@/:\s]*@)?(?P<named>[a-z0-9.-]+):(?!//))(?P<path>.+)",
    re.IGNORECASE,
)
_HOST: Final = pattern(r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z][a-z0-9-]{1,62}", re.IGNORECASE)
_STEP: Final = pattern(r"[\w~][\w.~+-]{0,254}", re.ASCII)

_FORGES: Final = (
    ("github", "commit"), ("gitlab", "-/commit"), ("codeberg", "commit"), ("gitea", "commit"),
    ("forgejo", "commit"), ("bitbucket", "commits"), ("sr.ht", "commit"),
)  # fmt: skip
"""A part of the host, which says what runs there, and the path of a commit there."""

_MAX_URL_CHARS: Final = 2000


def repository_at(place: Place) -> str:
    """The address of what is below a commit's hash, of ``origin`` or the first remote; "" for none.

    ``https://github.com/ada/engine/commit/``. Never raises.
    """
    try:
        remotes = remotes_of(place.common)
    except (Refused, OSError, ValueError):
        return ""
    ordered = [remotes[name] for name in ("origin", "upstream") if name in remotes]
    found = (commits_at(url) for url in (*ordered, *remotes.values()))
    return next(filter(None, found), "")


def commits_at(url: str) -> str:
    """The address of the commits of a remote with this URL; "" where no known forge is named."""
    if len(url) > _MAX_URL_CHARS:
        return ""
    scheme, port = "https", ""
    if match := _WEB.fullmatch(url):
        scheme, host, port = match["scheme"].lower(), match["host"], match["port"] or ""
    elif match := _OTHER.fullmatch(url):
        host = match["host"] or match["named"]
    else:
        return ""
    host = host.lower().removeprefix("ssh.")
    path = match["path"].strip("/").removesuffix(".git").rstrip("/")
    steps = path.split("/")
    forge = next((at for name, at in _FORGES if name in host), "")
    if not forge or not _HOST.fullmatch(host) or len(steps) < 2:
        return ""
    if not all(map(_STEP.fullmatch, steps)):
        return ""
    return f"{scheme}://{host}{port}/{path}/{forge}/"
