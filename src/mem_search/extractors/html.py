"""Web pages: the article without menus and advertisements, with what the page says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from mem_search.extractors.main_text import main_text, parsed, visible_words, with_values
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.text import cites
from mem_search.text.charsets import decoded_page, sniffed

_START: Final = pattern(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
                           re.IGNORECASE | re.DOTALL)  # fmt: skip
_SAVED: Final = pattern(
    r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s*url:\s*)(https?://\S+)"
)
"""How browsers (with the length of the URL before it) and SingleFile say where a page is from."""

_HEAD: Final = 4096
_ESCAPED: Final = str.maketrans({"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E"})
"""What would end an address of Markdown."""
_ELSEWHERE: Final = ("http://", "https://", "//")
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_ENTRIES: Final = frozenset(("li", "p", "div", "dd", "tr", "aside", "blockquote"))
_WITHIN: Final = frozenset("a span sup sub cite b i em strong small q bdi dt td th".split())
"""What an entry of a list of references is, and what may have its id instead."""
_MAX_ENTRY_CHARS: Final = 1000
_NUMBER: Final = pattern(r"[\[(]?\s?(?:[0-9]{1,4}(?:\s?[,–-]\s?[0-9]{1,4}){0,9}|\W|[a-z])\s?[\])]?")
_MARKS: Final = pattern(rf"{_NUMBER.pattern}|(?=.*[0-9]).{{1,60}}")
"""The words of a marker: a number, a letter or a sign, or what has a number: ``Smith 2020``."""
_BRACKETED: Final = pattern(r"\[[^\[\]\s]{1,60}\]")
_NO_LABEL: Final = pattern(r"[^\w.+*†‡§]+")
_AUTHORS: Final = ("author", "citation_author", "dc.creator", "article:author", "parsely-author")
_ANCHOR: Final = "¶#🔗"
"""What generators of documentation put after a heading as a link to it."""


class Html:
    """Reads the text with ``main_text`` and the metadata with trafilatura."""

    name = "html"
    suffixes = (".html", ".htm", ".xhtml")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        head = sniffed(head)
        text = head.removeprefix(b"\xef\xbb\xbf")
        return bool(_START.match(text)) or (suffix in self.suffixes and b"<" in head)

    def extract(self, path: Path, name: str) -> Extracted:
        return read_page(with_values(decoded_page(path.read_bytes()), pictures=False))

    def extract_with_links(self, path: Path, name: str) -> Extracted:
        return read_page(with_links(decoded_page(path.read_bytes())))

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        yield OUTSIDE, visible_words(decoded_page(path.read_bytes()))


OUTSIDE: Final = "the page, outside of its main text,"


def read_page(page: str, url: str = "") -> Extracted:
    """A page of HTML; ``url`` is where it was saved from, where the page itself does not say so."""
    from trafilatura.metadata import extract_metadata

    metadata: dict[str, Any] = {}
    created, title = None, ""
    root = parsed(page)
    about: Any = None
    with suppress(
        ValueError, TypeError, AttributeError
    ):  # values of a form that it does not expect
        about = extract_metadata(root, date_config=None) if root is not None else None
    if about is not None:
        title = (about.title or "").rstrip(_ANCHOR).rstrip()
        # A day that is not on the page was made of a year alone, such as that of the copyright.
        date = about.date if about.date and not _is_guessed(about.date, page) else None
        created = moment(date or "")
        author = _author(root) or _first_author(root) or about.author
        named = (("author", author), ("site", about.sitename), ("published", date))
        metadata = {key: value for key, value in named if value}
    saved = _SAVED.search(page[:_HEAD])
    stated = (about.url or "") if about is not None else ""
    url = stated or (saved[1] if saved else "") or url
    return Extracted(main_text(page), "website", title, created, url, metadata=metadata)


def with_links(page: str) -> str:
    """The page with each link to another page as Markdown in its text."""
    from lxml import html

    root = parsed(page)
    if root is None:
        return page
    _label_entries(root)
    _number_entries(root)
    for anchor in list(root.iter("a")):
        href = (anchor.get("href") or "").strip()
        if href.startswith("//"):
            href = f"https:{href}"
        if not href.lower().startswith(_ELSEWHERE):
            continue
        words = " ".join("".join(anchor.itertext()).split())
        # A list of references is no menu, although it is all links.
        _say(anchor, f"[{words}]({href.translate(_ESCAPED)})")
    return str(html.tostring(root, encoding="unicode"))


def _say(element: Any, words: str) -> None:
    """Make an element a piece of text. To take out its tag would move its neighbours each time."""
    for child in list(element):
        element.remove(child)
    element.tag, element.text = "span", words
    element.attrib.clear()


def _label_entries(root: Any) -> None:
    """Write markers that lead to an entry further down, and the entries, as footnotes of Markdown.

    So ``<a href="#ref3">3</a>`` cites what the list item, paragraph or row of this id names.
    """
    order = {element: at for at, element in enumerate(root.iter("*"))}
    named: dict[str, Any] = {}
    for element in order:
        for name in (element.get("id"), element.get("name") if element.tag == "a" else None):
            if name:
                named.setdefault(name, element)
    labels: dict[Any, str] = {}
    taken: set[str] = set()
    entries: dict[Any, Any] = {}
    for anchor in list(root.iter("a")):
        href = (anchor.get("href") or "").strip()
        target = named.get(unquote(href[1:])) if href.startswith("#") else None
        words = " ".join("".join(anchor.itertext()).split())
        # A list of references follows its text: what leads upwards leads back from an entry.
        if target is None or order[target] < order[anchor] or not _MARKS.fullmatch(words):
            continue
        if target not in entries:
            entries[target] = _entry(target)
        entry = entries[target]
        if entry is None or order[entry] < order[anchor]:
            continue
        label = _NO_LABEL.sub("-", words).strip("-") or "note"
        labels.setdefault(entry, f"{label}-{len(taken)}" if label in taken else label)
        taken.add(labels[entry])
        kept = "" if _NUMBER.fullmatch(words) or _BRACKETED.fullmatch(words) else words
        _say(anchor, f"{kept}[^{labels[entry]}]")
    for entry in [*labels]:
        following = entry.getnext()  # which ends it, cited or not
        while following is not None and following.tag == entry.tag and following not in labels:
            if _entry(following) is following:
                labels[following] = f"note-{len(labels)}"
            following = following.getnext()
    for entry, label in labels.items():
        _begin(entry, f"[^{label}]: ")


def _number_entries(root: Any) -> None:
    """Write the numbers of an ordered list of references, and raised numbers that lead to it."""
    listed = False
    numbers: set[int] = set()
    for element in root.iter(*_HEADINGS, "p", "ol"):
        if element.tag != "ol":
            is_heading = cites.is_heading(" ".join(_beginning(element).split()))
            listed = is_heading or (listed and element.tag == "p")
            continue
        start = element.get("start") or "1"
        number = int(start) if re.fullmatch("[0-9]{1,6}", start) else 1
        for item in element.iterchildren("li") if listed else ():
            if not _beginning(item).lstrip().startswith("[") and _entry(item) is item:
                _begin(item, f"[{number}] ")
                numbers.add(number)
            number += 1
    for raised in list(root.iter("sup")) if numbers else ():
        words = "".join(raised.itertext()).strip()
        first = re.search("[0-9]+", words) if _NUMBER.fullmatch(words) else None
        if first and int(first[0]) in numbers:
            _say(raised, f"[{words.strip('[]()')}]")


def _entry(target: Any) -> Any:
    """The entry of a list of references that ``target`` is or is at the head of; None for none."""
    while target is not None and target.tag in _WITHIN:
        following = target.getnext() if target.tag == "dt" else None
        target = target.getparent() if following is None else following
    if target is None or target.tag not in _ENTRIES:
        return None
    text = _beginning(target)
    if len(text) > _MAX_ENTRY_CHARS or any(True for _ in target.iter(*_HEADINGS)):
        return None
    linked = any((a.get("href") or "").startswith(_ELSEWHERE) for a in target.iter("a"))
    return target if linked or cites.find(text) else None


def _beginning(element: Any) -> str:
    """The text of an element; of a long one a little more than an entry has."""
    pieces: list[str] = []
    length = 0
    for piece in element.itertext():
        pieces.append(piece)
        if (length := length + len(piece)) > _MAX_ENTRY_CHARS:
            break
    return "".join(pieces)


def _begin(entry: Any, label: str) -> None:
    """Put ``label`` before the words of an entry, within its first paragraph."""
    while (
        not (entry.text or "").strip() and len(entry) and entry[0].tag in ("p", "div", "td", "th")
    ):
        entry = entry[0]
    entry.text = label + (entry.text or "").lstrip()


def _author(root: Any) -> str:
    """The authors as the page's head writes them; trafilatura changes the form of names."""
    for name in _AUTHORS:
        contents = root.xpath(".//meta[@name=$name or @property=$name]/@content", name=name)
        names = [" ".join(each.split()) for each in contents]
        if names := [each for each in names if each and "://" not in each]:
            return ", ".join(dict.fromkeys(names))
    return ""


def _first_author(root: Any) -> str:
    """The author of the first post, as schema.org marks it in a page's elements."""
    names = root.xpath(".//*[@itemprop='author']//*[@itemprop='name']")
    return " ".join("".join(names[0].itertext()).split()) if names else ""


def _is_guessed(date: str, page: str) -> bool:
    return date.endswith("-01-01") and date not in page
