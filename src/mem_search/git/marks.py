"""What tells a repository apart wherever it lies: its remote, its first commit, when it was made.

They are read from git's own small files; git does not run. The first commit is what the log of
HEAD begins with where the repository was made here; a clone has its remote. Where a remote names a
forge, a commit has an address there; no server is asked for it. Whoever made a repository chose its
remotes, so an address is made only of a host and a path with ordinary letters.
"""

from __future__ import annotations

import os
import re
from typing import Final

from mem_search.git.places import Place, Refused, remotes_of
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file

MAX_LINE_BYTES: Final = 4096
"""Of the first line of a log that is read: two hashes, a name, a time and the subject."""

_FIRST: Final = pattern(r"0{40,64} ([0-9a-f]{40,64}) [^\t\n]*\tcommit \(initial\)")
_CLONED: Final = pattern(r"0{40,64} [0-9a-f]{40,64} [^\t\n]*\tclone: from ([^\n]+)")
_URL: Final = pattern(r"(?:[a-z][a-z0-9+.-]*)://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.*)", re.IGNORECASE)
_SCP: Final = pattern(r"(?:[^@/:]*@)?([^/:]+):(?!//)(.*)")

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


def marks_of(place: Place) -> tuple[str, ...]:
    """The marks of the repository; none of one that is not read."""
    if place.refused:
        return ()
    try:
        remotes = remotes_of(place.common)
    except (Refused, OSError, ValueError):
        remotes = {}
    addresses = [remotes.get("origin") or next(iter(remotes.values()), "")]
    begun = _first_line(place)
    if cloned := _CLONED.match(begun):
        addresses.append(cloned[1].strip())
    marks = [f"remote:{remote}" for each in addresses if (remote := address(each, place))]
    if first := _FIRST.match(begun):
        marks.append(f"first:{first[1]}")
    if made := _made(place):
        marks.append(f"made:{made}")
    return tuple(dict.fromkeys(marks))


def address(url: str, place: Place) -> str:
    """``host/path`` of a remote, whatever its protocol, without who logs in; a path of a local one.

    Empty for no address.
    """
    if url.lower().startswith("file://"):
        url = url[len("file://") :]
    elif match := _URL.fullmatch(url) or _SCP.fullmatch(url):
        path = match[2].partition("?")[0].strip("/").removesuffix(".git").rstrip("/")
        return f"{match[1]}/{path}".lower() if match[1] and path else ""
    if not url or "\0" in url:
        return ""
    return os.path.realpath(os.path.join(place.root, url)).removesuffix("/.git")  # noqa: PTH118


def is_repository(folder: str) -> bool:
    """Whether the folder is the main work tree of a repository that is still there."""
    return os.path.isdir(os.path.join(folder, ".git"))  # noqa: PTH112, PTH118  never raises


def _first_line(place: Place) -> str:
    try:
        with open_regular_file(place.common / "logs" / "HEAD") as file:
            return file.readline(MAX_LINE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _made(place: Place) -> str:
    """When git made the repository, from a file that nobody changes; empty without parts of a
    second, as an archive leaves it: then it tells nothing apart.
    """
    try:
        at = (place.common / "description").lstat().st_mtime_ns
    except OSError:
        return ""
    return str(at) if at % 1_000_000_000 else ""


def commit_url_prefix(place: Place) -> str:
    """The address of what is below a commit's hash, of ``origin`` or the first remote; "" for none.

    ``https://github.com/ada/engine/commit/``. Never raises.
    """
    try:
        remotes = remotes_of(place.common)
    except (Refused, OSError, ValueError):
        return ""
    ordered = [remotes[name] for name in ("origin", "upstream") if name in remotes]
    urls = (commit_url_prefix_of(url) for url in (*ordered, *remotes.values()))
    return next(filter(None, urls), "")


def commit_url_prefix_of(url: str) -> str:
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
