"""One name for a page, however its address is written. Pure, linear in time, never raises.

``page_name`` decides whether a report cites a page that is stored. It goes further than
``urls.normal_url``, which makes identities: it reads through archives, redirectors and AMP caches,
and knows mobile hosts, DOIs and arXiv. Two addresses have one name only if they are the same page
by a rule of their site or of a standard, so parameters such as ``ref`` and ``id`` stay: courlan
and w3lib drop them everywhere or know no such rule, and so they join pages or part them.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final
from urllib.parse import unquote

from mem_search.patterns import pattern

_PARTS: Final = pattern(
    r"https?://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.IGNORECASE | re.DOTALL
)
_HOST: Final = pattern(r"([\w%.-]++|\[[0-9a-f:.]{2,45}\])(?::([0-9]{0,5}))?\Z", re.IGNORECASE)
_MAX_HOST_CHARS: Final = 255
_MAX_WRAPPERS: Final = 3
"""Wrappers around wrappers that are opened: an archived AMP page is two."""

_WRAPPERS: Final = tuple(
    pattern(form, re.IGNORECASE)
    for form in (
        r"web\.archive\.org/web/[0-9*]{1,15}(?:[a-z]{2}_)?/(.+)",
        r"archive\.(?:ph|is|today|li|vn|md|fo)/(?:newest/|o/\w{1,12}/|[0-9]{4,14}/)?(https?:.+)",
        r"(?:www\.)?google\.[a-z.]{2,6}/amp/(?:s/)?(.+)",
        r"[a-z0-9-]{1,80}\.cdn\.ampproject\.org/[a-z]/(?:s/)?(.+)",
        r"webcache\.googleusercontent\.com/search\?q=cache:(?:[\w-]{12}:)?([^&+]+).*",
        r"r\.jina\.ai/(.+)",
    )
)
_REDIRECTORS: Final = pattern(
    r"(?:(?:www\.)?google\.[a-z.]{2,6}/url|(?:l|lm|www)\.facebook\.com/l\.php"
    r"|(?:www\.)?youtube\.com/redirect|out\.reddit\.com/\w{0,20}|(?:www\.)?duckduckgo\.com/l/?)"
    r"\?(?:[^#]*&)?(?:q|url|u|uddg)=(https?(?::|%3a)[^&#]*)",
    re.IGNORECASE,
)
_SCHEME: Final = pattern(r"https?:/{1,2}", re.IGNORECASE)

_MOBILE: Final = frozenset(("m", "mobile", "amp", "touch", "wap"))
_HOSTS: Final = {
    "twitter.com": "x.com",
    "dx.doi.org": "doi.org",
    "export.arxiv.org": "arxiv.org",
    "old.reddit.com": "reddit.com",
    "np.reddit.com": "reddit.com",
    "new.reddit.com": "reddit.com",
}
_ESCAPED: Final = pattern(r"%([0-9A-Fa-f]{2})")
_UNSAFE: Final = pattern(r"[^\x21-\x7e]|[\"<>\\^`{|}]")
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$'()*,:@"
)
"""Bytes that mean the same in a path escaped or not (RFC 3986, unreserved and harmless marks)."""

_INDEX: Final = pattern(r"/(?:index|default)\.(?:html?|php|aspx?|jsp)\Z", re.IGNORECASE)
_SESSION: Final = pattern(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_AMP_END: Final = pattern(r"(?:/amp(?:\.html?)?|\.amp)\Z|\.amp(?=\.html?\Z)", re.IGNORECASE)
_AMP_START: Final = pattern(r"/amp(?=/.)", re.IGNORECASE)
_IGNORED: Final = pattern(
    r"(?:utm_\w*|(?:fb|g|y|tw|tt|ysc|sc|ml)clid|msclkid|dclid|[wg]braid|gad_\w+"
    r"|gclsrc|igshid?|mc_[ce]id|ref_(?:src|url)|_g[al]|_gac|_hs(?:enc|mi)|hsctatracking|mkt_tok"
    r"|vero_(?:id|conv)|oly_(?:enc|anon)_id|pk_\w+|mtm_\w+|matomo_\w+|piwik_\w+|spm|scm|cmpid"
    r"|s_cid|ncid|xtor|at_(?:medium|campaign|custom\d)|wt\.?mc_id|guccounter|guce_\w+"
    r"|amp|_amp|amp_\w+|outputtype|usqp|jsessionid|phpsessid|srsltid|__twitter_impression)\Z",
    re.IGNORECASE,
)
_ROUTE: Final = pattern(r"!?/\S")
"""A fragment that names a page of an application (``#/docs``, ``#!/docs``), not a place in one."""

_DOI: Final = pattern(r"/(10\.[0-9]{4,9}/[^?\s]+)")
_DOI_HOST: Final = "doi.org"
_DOI_PLACE: Final = pattern(
    r"/(?:doi|article|articles|chapter|book|content|abs|full|pdf)/", re.IGNORECASE
)
_DOI_END: Final = pattern(
    r"(?:/(?:full(?:/html|text)?|abstract|abs|e?pdf|epub|html|meta|xml|summary)|\.e?pdf|\.full"
    r"|\.abstract)\Z",
    re.IGNORECASE,
)
_ARXIV: Final = pattern(
    r"(?:(?:arxiv\.org|ar5iv\.labs\.arxiv\.org|ar5iv\.org)/(?:abs|pdf|html|format|ps)/"
    r"|doi\.org/10\.48550/arxiv\.)"
    r"([0-9]{4}\.[0-9]{4,5}|[a-z-]{2,20}(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]{1,3})?(?:\.pdf)?\Z",
    re.IGNORECASE,
)
_SAME: Final = (
    (pattern(r"youtu\.be/([\w-]{6,20})(?:\?.*)?\Z"), r"youtube.com/watch?v=\1"),
    (pattern(r"youtube\.com/(?:shorts|embed|live)/([\w-]{6,20})(?:\?.*)?\Z"),
     r"youtube.com/watch?v=\1"),
    (pattern(r"ncbi\.nlm\.nih\.gov/pmc/articles/(pmc[0-9]+)(?=/|\Z)", re.IGNORECASE),
     lambda match: f"pmc.ncbi.nlm.nih.gov/articles/{match[1].upper()}"),
    (pattern(r"ncbi\.nlm\.nih\.gov/pubmed/([0-9]+)\Z"), r"pubmed.ncbi.nlm.nih.gov/\1"),
)  # fmt: skip
"""The same page under two addresses of one site, each a lasting redirect of that site."""


def page_name(url: str) -> str:
    """Host, path and query of the page at ``url``: ``en.wikipedia.org/wiki/Ageing``; "" for none.

    A DOI is ``doi.org/10.…`` wherever it is in the address, a paper of arXiv ``arxiv.org/abs/…``
    without its version. A name with ``https://`` before it has itself as its name.
    """
    url = _opened(unescape(url.strip()) if "&" in url else url.strip())
    parts = _PARTS.match(url)
    written = _HOST.match(parts[1].rpartition("@")[2]) if parts else None
    if parts is None or written is None:
        return ""
    host = _host(written[1].lower().rstrip("."), written[2] or "")
    if not host or len(host) > _MAX_HOST_CHARS:
        return ""
    path = _path(parts[2])
    name = _doi(host, path) or host + path
    if arxiv := _ARXIV.match(name):
        return f"arxiv.org/abs/{arxiv[1].lower()}"
    if name == host + path and (query := _query(parts[3] or "")):
        name = f"{name}?{query}"
    for form, replacement in _SAME:
        name = form.sub(replacement, name, count=1)
    if (fragment := parts[4] or "") and _ROUTE.match(fragment):
        name += "#" + _escaped(fragment.rstrip("/"))
    return name


def doi_name(doi: str) -> str:
    """The name of the page of a DOI as it is written, such as ``10.1000/XYZ.``."""
    return page_name(f"https://doi.org/{_escaped(doi)}")


def _opened(url: str) -> str:
    """The address that an archive, a cache or a redirector shows or leads to."""
    for _ in range(_MAX_WRAPPERS):
        scheme = _SCHEME.match(url)
        if scheme is None:
            return url
        rest = url[scheme.end() :]
        if wrapped := _REDIRECTORS.match(rest):
            inner = unquote(wrapped[1])
        elif wrapped := next((hit for each in _WRAPPERS if (hit := each.match(rest))), None):
            inner = unquote(wrapped[1]) if "%3a%2f" in wrapped[1][:16].lower() else wrapped[1]
        else:
            return url
        within = _SCHEME.match(inner)
        url = "https://" + (inner[within.end() :] if within else inner)
    return url


def _host(name: str, port: str) -> str:
    """The host of the full page, with a port that is not the usual one."""
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:  # no name of the DNS; it still names itself
            name = _escaped(name).lower()
    labels = name.split(".")
    for at in (0, 1):
        left = [*labels[:at], *labels[at + 1 :]]
        # ``m.co.uk`` is a site, and so is ``m.me``.
        if len(left) > at + 1 and labels[at] in _MOBILE and not _is_suffix(left):
            labels = left
            break
    name = ".".join(labels).removeprefix("www.")
    return _HOSTS.get(name, name) + ("" if port in ("", "80", "443") else f":{port}")


def _is_suffix(labels: list[str]) -> bool:
    """Whether this may be a suffix under which anybody registers names, such as ``co.uk``."""
    return len(labels) == 2 and len(labels[0]) <= 3 and len(labels[1]) == 2


def _path(path: str) -> str:
    segments: list[str] = []
    for segment in _SESSION.sub("", _escaped(path)).split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    joined = "".join(f"/{segment}" for segment in segments)
    joined = _AMP_END.sub("", _AMP_START.sub("", joined, count=1), count=1)
    return _INDEX.sub("", joined)


def _query(query: str) -> str:
    kept = set()
    for item in query.replace("+", "%20").split("&"):
        if item and not _IGNORED.match(item.partition("=")[0]):
            kept.add(_escaped(item))
    return "&".join(sorted(kept))


def _doi(host: str, path: str) -> str:
    """The name of the DOI in a path of a publisher; "" for none."""
    if host == _DOI_HOST:
        path = path.replace("%2F", "/", 1)
    match = _DOI.search(path)
    if match is None or not (host == _DOI_HOST or _DOI_PLACE.search(path, 0, match.start() + 1)):
        return ""
    doi = match[1]
    for _ in range(_MAX_WRAPPERS):
        if host != _DOI_HOST and (end := _DOI_END.search(doi)):
            doi = doi[: end.start()]
    return f"doi.org/{doi.lower()}" if doi.partition("/")[2] else ""


def _escaped(text: str) -> str:
    """``text`` with one way of escaping: none where it changes nothing, else ``%E4``."""

    def kept(match: re.Match[str]) -> str:
        byte = int(match[1], 16)
        return chr(byte) if byte in _UNRESERVED else f"%{match[1].upper()}"

    def escaped(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))

    return _UNSAFE.sub(escaped, _ESCAPED.sub(kept, text))
