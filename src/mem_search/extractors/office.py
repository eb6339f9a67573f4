"""What Word, PowerPoint and Excel files have alike: charts, comments, drawings, files inside.

``shown_words`` is the second count of their readers: a plain pass over the parts of the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import inside, number_format, zip_package
from mem_search.extractors.zip_package import Package, attribute, local
from mem_search.patterns import pattern
from mem_search.text.counted import counted

_SHOWN: Final = pattern(
    r"(?:word/(?:document|footnotes|endnotes|comments|header\d*|footer\d*)"
    r"|word/(?:diagrams/data|charts/chart(?:Ex)?)\d*"
    r"|ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|charts/chart(?:Ex)?)\d+"
    r"|ppt/comments/\w+|ppt/slides/comments/\w+"
    r"|xl/(?:sharedStrings|comments\w*|comments/\w+|threadedComments/\w+|drawings/drawing\d+"
    r"|charts/chart(?:Ex)?\d+|diagrams/data\d+|worksheets/sheet\d+))\.xml"
)
"""Parts with words that a person sees; not the layouts of slides, which say "click to edit"."""

_WORDS: Final = pattern(
    rb"<(?:\w+:)?(?:t|text)(?:\s[^<>]*)?>(?P<words>[^<]*)</"
    rb"|<(?P<ends>/)?(?:\w+:)?(?P<silent>rPh|fld|moveFrom)\b(?P<field>[^<>]*)>"
    rb"|</(?:\w+:)?(?:p|si|is|comment|cm|txBody)>|<(?:\w+:)?(?:tab|br|cr|noBreakHyphen)\b"
)
_NUMBER_OF_SLIDE: Final = b'type="slidenum"'

CODES: Final = pattern(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|\d+|[A-Za-z])')
"""What stands for fonts, pages and dates in the head and foot of a sheet."""

FILES: Final = frozenset(("package", "oleObject"))
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp")
_MAX_PICTURES: Final = 8
"""Each takes some seconds to recognise, and all are read in one call."""
_LARGE_PICTURE: Final = 100_000
"""Bytes of a picture that may be a page or a screen."""

_MADE: Final = pattern(
    r"generated|generiert|généré|generad|gerad|сгенерир|自动|自動", re.IGNORECASE
)
"""In what Office says of a picture by itself."""
_FILE_NAME: Final = pattern(r"\S{1,200}\.\w{2,5}|https?:\S{1,2000}")

_MAX_POINTS: Final = 2_000
"""Values of a chart that are listed; it has no more that anybody reads."""


def shown_words(path: Path) -> Iterator[tuple[str, str]]:
    """The name of each part that shows text, and its words, without the order of a document."""
    with zip_package.opened(path) as package:
        # With replies, the comments of before only say that there are some.
        has_replies = any(name.startswith("xl/threadedComments/") for name in package.names)
        for name in sorted(package.names):
            if _SHOWN.fullmatch(name) and not (has_replies and name.startswith("xl/comments")):
                data = b"".join(_words(package.data(name)))
                yield name, unescape(data.decode("utf-8", "replace"))


def _words(data: bytes) -> Iterator[bytes]:
    """Words and ends of lines; not how Japanese words are read, nor what was moved elsewhere, nor
    the numbers of slides."""
    silent = False
    for match in _WORDS.finditer(data):
        if (name := match["silent"]) is not None:
            begins = match["ends"] is None and not match["field"].endswith(b"/")
            silent = begins and (name != b"fld" or _NUMBER_OF_SLIDE in match["field"])
        elif not silent:
            yield b"\n" if match["words"] is None else match["words"]


def text_of(root: Any) -> str:
    """The paragraphs of a drawing: a slide, notes, a text box, a diagram."""
    lines = []
    for paragraph in root.iter():
        if local(paragraph) == "p" and attribute(paragraph.getparent(), "type") != "sldNum":
            line = "".join(
                e.text or "" if local(e) == "t" else "\n" for e in paragraph.iter()
                if local(e) in ("t", "br")
            )  # fmt: skip
            lines.append(line.strip())
    return "\n".join(line for line in lines if line)


def alternative_texts(root: Any) -> Iterator[str]:
    """What a person wrote about pictures and shapes, for those who do not see them, and the words
    of WordArt of before 2007."""
    for element in root.iter():
        name = local(element)
        said = attribute(element, "descr") if name in ("docPr", "cNvPr") else ""
        said = attribute(element, "string") if name == "textpath" else " ".join(said.split())
        if said and not _MADE.search(said) and not _FILE_NAME.fullmatch(said):
            yield said


def comments_of(root: Any) -> str:
    """The comments on a slide, of old and of new form."""
    if any(local(each) == "txBody" for each in root.iter()):
        return text_of(root)
    return "\n".join(each.text for each in root.iter() if local(each) == "text" and each.text)


def chart_of(root: Any) -> str:
    """The title of a chart, and a line for each series: ``Ducks: 2019: 120; 2020: 130``."""
    lines = [text_of(root)]
    for series in root.iter():
        if local(series) == "ser":
            parts = {local(child): child for child in series}
            name = " ".join(_values(parts.get("tx")))
            labels = _values(parts.get("cat", parts.get("xVal")))
            values = _values(parts.get("val", parts.get("yVal")))
            pairs = [f"{labels[at]}: {value}" if at < len(labels) else value
                     for at, value in enumerate(values)]  # fmt: skip
            told = "; ".join(pairs or labels)
            lines.append(f"{name}: {told}" if name and told else name or told)
        elif local(series) in ("strDim", "numDim"):  # charts of a newer kind: treemaps, waterfalls
            lines.append("; ".join(_values(series)))
        elif local(series) == "txData":
            lines += [each.text for each in series.iter() if local(each) == "v" and each.text]
    return "\n".join(line for line in lines if line)


def _values(data: Any) -> list[str]:
    """The points of a series, as the format of the chart shows them."""
    if data is None:
        return []
    code = next((e.text for e in data.iter() if local(e) == "formatCode"), None) or "General"
    values: list[str] = []
    for point in data.iter():
        if local(point) == "pt" and len(values) < _MAX_POINTS:
            said = point.text or "".join(e.text or "" for e in point if local(e) == "v")
            own = attribute(point, "formatCode") or code
            is_text = local(point.getparent()) in ("strCache", "strLit", "lvl") and own == "General"
            values.append(said.strip() if is_text else _number(said.strip(), own))
    if not values:  # a name that is written in the chart itself
        values = [e.text for e in data.iter() if local(e) in ("v", "t") and e.text]
    return values


def _number(said: str, code: str) -> str:
    try:
        return number_format.formatted(float(said), code)
    except ValueError:
        return said


def drawn(package: Package, part: str) -> Iterator[str]:
    """The text of the charts, diagrams and notes that a part of a document shows."""
    for kind, target in package.targets(part).values():
        if target not in package.names:
            continue
        if kind in ("chart", "chartEx"):
            yield chart_of(package.xml(target))
        elif kind in ("notesSlide", "diagramData"):
            yield text_of(package.xml(target))
        elif kind == "comments" and not part.startswith("xl/"):
            yield comments_of(package.xml(target))


def files_in(package: Package, parts: Iterable[str]) -> inside.Inside:
    """The files that a person put into the document; those behind its charts are no others."""
    targets = dict.fromkeys(
        target for part in parts for kind, target in package.targets(part).values()
        if kind in FILES and target in package.names
    )  # fmt: skip
    return inside.read((Path(name).name, package.data(name)) for name in targets)


def pictures_in(package: Package, parts: Iterable[str]) -> inside.Inside:
    """The text of the pictures that the parts show: of a document that is hardly more."""
    pictures = dict.fromkeys(
        target for part in parts for kind, target in package.targets(part).values()
        if kind == "image" and target in package.names
    )  # fmt: skip
    names = [name for name in pictures if name.lower().endswith(_PICTURES)]
    read = inside.read((Path(name).name, package.data(name)) for name in names[:_MAX_PICTURES])
    if len(names) > _MAX_PICTURES:
        more = f"{len(names) - _MAX_PICTURES} more pictures in it are not read"
        return replace(read, unread=(*read.unread, more))
    return read


def large_pictures(package: Package, parts: Iterable[str]) -> Iterator[str]:
    """Says that pictures which may have text are not read; small ones are signs and logos."""
    large = {
        target for part in parts for kind, target in package.targets(part).values()
        if kind == "image" and target in package.names and package.size(target) > _LARGE_PICTURE
    }  # fmt: skip
    if large:
        yield counted(
            len(large), "large picture in it is not read", "large pictures in it are not read"
        )
