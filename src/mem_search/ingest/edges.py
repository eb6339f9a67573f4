"""The edges of a draft, and the names by which other records can refer to it. Pure.

A name is a prefixed text that is equal for every spelling of the same thing:
``ref:note:7``, ``id:SOURCE_ID``, ``url:PAGE``, ``commit:…``, ``issue:REPOSITORY#12``,
``title:…``, ``path:PROJECT:…``, ``symbol:PROJECT:…``. An edge points at a name; the store
resolves it (``storage/sql/edges.py``), at once or when the other record comes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final, Literal
from urllib.parse import unquote

from mem_search.errors import InputError
from mem_search.ingest import edges
from mem_search.model import Draft, Kind, Ref
from mem_search.model.graph import CITES, Cite
from mem_search.model.ingest import NewEdge
from mem_search.model.projects import folder_name
from mem_search.patterns import pattern
from mem_search.records.canonical_text import listed
from mem_search.records.registry import installed_kinds
from mem_search.text import cites, urls
from mem_search.text.markdown_code import CodeSpans
from mem_search.text.page_names import doi_name, page_name
from mem_search.text.record_ids import alias_of
from mem_search.text.urls import ENDS, without_trailing_marks

MentionKind = Literal["ref", "issue", "commit", "path", "url", "wikilink", "symbol"]

_EXTENSIONS: Final = (
    "py pyi ipynb js jsx mjs cjs ts tsx vue svelte rs go java kt kts scala c h cc cpp hpp cs rb php"
    " ex exs erl hs ml swift m mm lua pl r jl sh bash zsh fish ps1 sql md mdx rst txt adoc tex"
    " json jsonl yaml yml toml ini cfg conf lock xml html css scss sass less csv tsv proto graphql"
    " tf gradle cmake dockerfile ipynb log pdf docx"
).split()
_NAMED: Final = frozenset({"Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "Gemfile"})
_MENTION: Final = rf"""
    (?P<url>https?://[^\s<>"'`{{}}|\\^\[\]{ENDS}]++)
    | \[\[(?P<wikilink>[^\[\]\n]{{1,200}}+)\]\]
    | (?<=`)(?P<symbol>[A-Za-z_]\w*+(?:(?:\.|::)[A-Za-z_]\w*+)*+(?:\(\))?+)(?=`)
    # Most tokens are plain words; the second line rejects them at once.
    | (?<![\w/.@\#&~+-])
      (?=[\w@+~-]*+[\#/.:]|[0-9a-f]{{7}}|GH-)(?:
        (?P<issue>(?:[\w.-]++/[\w.-]++)?+\#[0-9]{{1,6}}|GH-[0-9]{{1,6}})(?![\w-])
        | (?P<commit>[0-9a-f]{{7,40}})(?![\w-])
        | (?P<ref>(?:local:)?(?:{{KINDS}}):[0-9]{{1,18}})(?!\w)
        | (?P<path>~?/?(?:[\w@+.-]++/)++[\w@+.-]++)
        | (?P<file>[\w+-]++(?:\.[\w+-]++)*\.(?:{"|".join(_EXTENSIONS)}))(?![\w/@+-])
    )
    """
_EXTENSION: Final = pattern(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_HOST: Final = pattern(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|edu|gov)\Z")
_FILE_SYMBOL: Final = pattern(rf"\w+(?:\.\w+)*\.(?:{'|'.join(_EXTENSIONS)})\Z")
_DISTINCTIVE: Final = pattern(r"\(\)\Z|\.|::|_|[a-z][A-Z]")
"""What makes a name in backticks a symbol: a call, a dot, an underscore or an inner capital."""
_MIN_SYMBOL_CHARS: Final = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """``text[start:end]``; ``value`` is the same however the mention is written.

    An issue's value is ``12`` or ``owner/repo#12``, a commit's lowercase hexadecimal digits, a
    URL's page (``page_names``), a wikilink's folded title, a symbol's name without brackets.
    """

    kind: MentionKind
    value: str
    start: int
    end: int


def find_mentions(text: str, kinds: tuple[Kind, ...]) -> tuple[Mention, ...]:
    """Every mention in the order of the text; none overlap. Never raises, linear in time.

    ``kinds`` are those that a ref can name: ``port:8080`` is none.
    """
    return tuple(_mentions(text, _pattern(kinds)))


@cache
def _pattern(kinds: tuple[Kind, ...]) -> re.Pattern[str]:
    return re.compile(_MENTION.replace("{KINDS}", "|".join(kinds)), re.VERBOSE)


def folded_title(title: str) -> str:
    """A title as wikilinks compare it, without case, and with underscores as spaces."""
    return " ".join(title.replace("_", " ").split()).casefold()


def normal_path(path: str) -> str:
    """A path without a leading ``./``."""
    return path.removeprefix("./")


def _mentions(text: str, pattern: re.Pattern[str]) -> Iterator[Mention]:
    for match in pattern.finditer(text):
        group = match.lastgroup
        assert group is not None
        written, start = match[group], match.start(group)
        match group:
            case "url":
                written = without_trailing_marks(written)
                if value := page_name(written):
                    yield Mention("url", value, start, start + len(written))
            case "wikilink":
                title = written.partition("|")[0].partition("#")[0].rstrip("\\")
                if value := folded_title(title).removesuffix(".md"):
                    yield Mention("wikilink", value, start, match.end(group))
            case "symbol":
                if _FILE_SYMBOL.match(written):
                    yield Mention("path", written, start, match.end(group))
                elif len(written) >= _MIN_SYMBOL_CHARS and _DISTINCTIVE.search(written):
                    yield Mention("symbol", written.removesuffix("()"), start, match.end(group))
            case "issue":
                value = written.removeprefix("GH-").removeprefix("#")
                yield Mention("issue", value, start, match.end(group))
            case "commit":
                # Only digits or only letters are a number or a word such as "defaced".
                if not (written.isdecimal() or written.isalpha()):
                    yield Mention("commit", written, start, match.end(group))
            case "ref":
                yield Mention("ref", written.removeprefix("local:"), start, match.end(group))
            case "path":
                written = written.rstrip(".-+@")
                if _is_file(written):
                    yield Mention("path", normal_path(written), start, start + len(written))
            case _:
                yield Mention("path", written, start, match.end(group))


def _is_file(path: str) -> bool:
    """Whether a path names a file, unlike ``and/or``, ``1/2`` or a URL without its scheme."""
    head, _, name = path.rpartition("/")
    if name not in _NAMED and not _EXTENSION.search(name):
        return False
    return not _HOST.match(head.partition("/")[0])


MAX_READ_CHARS: Final = 100_000
"""Characters of a text that are searched for mentions; longer texts are mostly dumps."""

MAX_MENTIONS: Final = 100
"""Most mentions of one record; a text with more is a list."""

STRENGTH: Final[dict[MentionKind, float]] = {
    "ref": 0.9,
    "wikilink": 0.9,
    "commit": 0.8,
    "issue": 0.6,
    "url": 0.5,
    "path": 0.4,
    "symbol": 0.3,
}
"""The strength of a mention, by how deliberate its form is. An explicit link has 1."""

ADDRESSES: Final = ("canonical_url", "requested_url", "final_url", "fetched_from")
"""Metadata with other addresses of a stored page, beside the list ``redirects`` and its ``doi``."""

CITED_STRENGTH: Final = 1.0
"""The strength of a citation: the text says explicitly which page it means."""

STATED_STRENGTH: Final = 0.9
"""The strength when the words before a mention name the relation."""

_RELATIONS: Final = (
    ("supersedes", r"supersed(?:es?|ing)|replac(?:es?|ing)"),
    ("superseded_by", r"(?:superseded|replaced)[ -]by"),
    ("reverts", r"reverts?(?: commit| pull request| pr)?|reverting"),
    ("fixes", r"fix(?:e[sd]|ing)?|close[sd]?|closing|resolve[sd]?|resolving"),
    ("follows", r"follow(?:s|ing)?(?:[ -]?up)?(?: (?:to|of|on|for))?"),
    ("duplicates", r"duplicates?(?: of)?"),
)
_STATED: Final = pattern(
    "(?:"
    + "|".join(rf"(?P<{name}>\b(?:{words}))" for name, words in _RELATIONS)
    + r")[\s:`'\"(]*\Z",
    re.IGNORECASE,
)
_BEFORE: Final = 40
_IN_CODE: Final = frozenset({"url"})
"""In source code ``#12``, paths and hexadecimal digits are mostly data."""

_LINK: Final = pattern(
    r"(!?)\[[^\[\]\n]{0,300}+\]"
    r"\((?:<([^<>\n]{1,500}+)>|([^()\s<>]{1,500}+))(?:[ \t][^()\n]{0,300}+)?\)"
)
"""A link or, with ``!``, a picture of Markdown. https://spec.commonmark.org/0.31.2/#links"""

_SCHEME: Final = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:|//")

_MAX_LINK_PARTS: Final = 4
"""Parts of a path that a wikilink may name: ``[[2024/travel/Lisbon]]`` has three."""

_FILES: Final = frozenset({"file_read", "file_modified", "path"})
_TITLED: Final = frozenset({"note", "file"})


def edges_of(
    draft: Draft,
    facets: Iterable[tuple[str, str]],
    names: Iterable[str],
    *,
    source_code: bool = False,
) -> tuple[NewEdge, ...]:
    """Explicit links first, then pages that a report cites, then mentions in title and text.

    Each name has one edge of a relation. ``names`` are the record's own (``names_of``), which are
    left out.
    """
    files = {value for name, value in facets if name in _FILES}
    own = set(names)
    by_target = {
        (link.to, link.relation): NewEdge(link.to, link.relation, key_of_link(link.to), "given")
        for link in draft.links
    }
    known = {(edge.key, edge.relation) for edge in by_target.values()}
    kept, cited = 0, set()
    if installed_kinds().require(draft.kind).cites:
        for edge in _cited(draft.text):
            cited.add(edge.key)
            if edge.key not in own:
                known.add((edge.key, edge.relation))
                by_target[edge.target, edge.relation] = edge
    linked = _linked(draft, files) if draft.kind in _TITLED and not source_code else ()
    for edge in chain(linked, _mentioned(draft, files, source_code=source_code)):
        if edge.key in cited:
            continue
        if (edge.key, edge.relation) in known or edge.key in own:
            continue
        known.add((edge.key, edge.relation))
        by_target[edge.target, edge.relation] = edge
        if (kept := kept + 1) == MAX_MENTIONS:
            break
    return tuple(by_target.values())


def names_of(draft: Draft, facets: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The names of this record, beside its ref."""
    names = [f"id:{draft.source_id}"]
    if alias := alias_of(draft.source, draft.source_id):
        names.append(f"id:{alias}")
    metadata = draft.metadata
    addresses = [draft.url, *(metadata.get(name) for name in ADDRESSES)]
    redirects = metadata.get("redirects")
    addresses += redirects[:MAX_MENTIONS] if isinstance(redirects, list) else []
    for page in filter(None, (page_name(each) for each in addresses if isinstance(each, str))):
        names += [f"url:{page}", _key_of_url(page)]
    if isinstance(doi := metadata.get("doi"), str) and (page := doi_name(doi)):
        names.append(f"url:{page}")
    titles = [draft.title] if draft.kind in _TITLED else []
    for name, value in facets:
        if name == "commit":
            names.append(f"commit:{value.lower()}")
        elif name == "path":
            path = edges.normal_path(value)
            names.append(_key_of_path(path, draft.project))
            parts = path.rpartition(".")[0].strip("/").split("/")
            titles += [
                "/".join(parts[-depth:]) for depth in range(1, min(_MAX_LINK_PARTS, len(parts)) + 1)
            ]
    if draft.kind == "note":
        titles += listed(metadata.get("aliases"))[:MAX_MENTIONS]
    names += [f"title:{folded}" for title in titles if (folded := edges.folded_title(title))]
    return tuple(dict.fromkeys(names))


def key_of_link(to: str) -> str:
    """The name that an explicit link points at: a ref, a URL, else a source id."""
    try:
        ref = Ref.parse(to)
    except InputError:
        page = page_name(to)
        return _key_of_url(page) if page else f"id:{to}"
    # A source id may look like ``issue:12``.
    return f"ref:{ref}" if ref.kind in installed_kinds().names else f"id:{to}"


def _mentioned(draft: Draft, files: set[str], *, source_code: bool) -> Iterator[NewEdge]:
    kinds = installed_kinds().names
    for text in (draft.title, draft.text[:MAX_READ_CHARS]):
        code = CodeSpans(text if draft.kind in _TITLED else "")
        for mention in edges.find_mentions(text, kinds):
            if mention.value in files or (source_code and mention.kind not in _IN_CODE):
                continue
            if mention.kind == "wikilink" and mention.start in code:
                continue  # an example, or "if [[ -n $x ]]" of a shell
            if key := _key(mention, draft.project):
                before = text[max(0, mention.start - _BEFORE) : mention.start]
                relation = _relation(before, mention)
                strength = STRENGTH[mention.kind] if relation == "mentions" else STATED_STRENGTH
                target = text[mention.start : mention.end]
                yield NewEdge(target, relation, key, "found", strength)


def _linked(draft: Draft, files: Iterable[str]) -> Iterator[NewEdge]:
    """An edge for each link of a Markdown text to a file, from the folder of its own file."""
    own = next((path for path in files if "/" in path), "")
    code = CodeSpans(draft.text[:MAX_READ_CHARS])
    for match in _LINK.finditer(draft.text[:MAX_READ_CHARS]):
        if match.start() in code:
            continue
        written = match[2] or match[3]
        target = unquote(written.partition("#")[0])
        if not target or "\0" in target or _SCHEME.match(target):
            continue
        target = target if posixpath.splitext(target)[1] else f"{target}.md"
        path = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
        if key := _key_of_path(path, draft.project):
            relation = "embeds" if match[1] else "mentions"
            yield NewEdge(written, relation, key, "found", STRENGTH["wikilink"])


def _cited(text: str) -> Iterator[NewEdge]:
    """An edge for each page that the text cites, with all places that cite it."""
    by_key: dict[str, list[Cite]] = {}
    for cite in cites.find(text):
        if page := page_name(cite.target):
            by_key.setdefault(_key_of_url(page), []).append(cite)
    for key, places in by_key.items():
        yield NewEdge(places[0].target, CITES, key, "found", CITED_STRENGTH, tuple(places))


def _relation(before: str, mention: Mention) -> str:
    if mention.kind in ("path", "symbol", "url"):
        return "mentions"
    if mention.kind == "wikilink" and before.endswith("![["):
        return "embeds"
    stated = _STATED.search(before)
    return stated.lastgroup or "mentions" if stated else "mentions"


def _key(mention: Mention, project: str) -> str:
    match mention.kind:
        case "issue":
            repository, _, number = mention.value.rpartition("#")
            return _key_of_issue(repository or project, number)
        case "url":
            return _key_of_url(mention.value)
        case "path":
            return _key_of_path(mention.value, project)
        case "symbol":
            return f"symbol:{project.lower()}:{mention.value}" if project else ""
        case "wikilink":
            return f"title:{mention.value}"
        case _:
            return f"{mention.kind}:{mention.value}"


def _key_of_issue(repository: str, number: str) -> str:
    """The issue in a project, which has the name of its repository; ``#12`` alone is ambiguous."""
    name = folder_name(repository).rstrip("/").rpartition("/")[2].lower()
    return f"issue:{name}#{number}" if name else ""


def _key_of_url(page: str) -> str:
    """Pages of issues and commits stand for the issues and commits, in any spelling."""
    if issue := urls.issue_of(page):
        return _key_of_issue(*issue)
    if commit := urls.commit_of(page):
        return f"commit:{commit}"
    return f"url:{page}"


def _key_of_path(path: str, project: str) -> str:
    """Absolute paths are the same file everywhere, others within one project."""
    if path.startswith(("/", "~")):
        return f"path::{path}"
    return f"path:{project.lower()}:{path}" if project else ""
