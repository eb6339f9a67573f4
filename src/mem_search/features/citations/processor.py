"""citeproc-py with its known defects repaired; the only module that imports it.

citeproc-py 0.11 renders the current APA, MLA and Chicago styles wrongly in the ways that ADR 0027
lists. The elements below replace its own, because the last class of a name wins. Other defects
are avoided by marking the data with noncharacters of Unicode, which exist for such use, and
finishing the text here. The tests contain the expected references.
"""

# mypy: disable-error-code="misc,no-untyped-call"
from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from citeproc import (
    Citation,
    CitationItem,
    CitationStylesBibliography,
    CitationStylesStyle,
    formatter,
    model,
)
from citeproc.source.json import CiteProcJSON

from mem_search.features.citations.authors import OTHERS
from mem_search.features.citations.reference_files import Item
from mem_search.patterns import pattern
from mem_search.text.json_reading import with_texts

DATA = Path(__file__).parent / "data"
_OPEN, _CLOSE, _END, _LESS, _MORE, _AND, _ET_AL = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6"
_JOINED = pattern(rf",?(?: (?:and|{_AND}|&(?:amp;|#38;)?))? ?{_ET_AL}\.?")
_MARKS = pattern("[\ufdd0-\ufdef]")
_HIDDEN = str.maketrans({"<": _LESS, ">": _MORE, "&": _AND})
_SHOWN = {_OPEN: "“", _CLOSE: "”", _END: "", _LESS: "<", _MORE: ">", _AND: "&"}
_TAGS = r"((?:</?\w+>)*)"
_WORDS = ("title", "container-title", "genre", "archive", "archive_location")
_RENDERED = "variables rendered since the last substitute began"


class Text(model.Text, model.CitationStylesElement):
    """Records what was rendered, and marks quotes for ``finished``."""

    def get_macro(self, name: str) -> Any:
        # A lookup by XPath would take half of the rendering time.
        return self.get_root().macros[name]

    def _variable(self, item: Any, context: Any) -> Any:
        text = super()._variable(item, context)
        if text:
            rendered = context.get_layout().repressed.setdefault(_RENDERED, [])
            rendered.append(self.get("variable"))
        return text

    def quote(self, string: Any) -> Any:
        return _OPEN + string + _CLOSE if self.get("quotes") == "true" else string


class Substitute(model.Substitute, model.CitationStylesElement):
    """Suppresses what replaced a missing author, also when a macro rendered it.

    citeproc-py suppresses only variables that the substitute itself names.
    """

    def render(self, item: Any, context: Any = None, **options: Any) -> Any:
        context.get_layout().repressed[_RENDERED] = []
        return super().render(item, context=context, **options)

    def add_to_repressed_list(self, child: Any, context: Any) -> None:
        super().add_to_repressed_list(child, context)
        repressed = context.get_layout().repressed
        text_tag = f"{{{self.nsmap['cs']}}}text"
        repressed.setdefault(text_tag, []).extend(repressed.pop(_RENDERED, []))


class Name(model.Name, model.CitationStylesElement):
    """Supports ``initialize="false"``, which keeps given names whole."""

    def get_option(self, name: str, context: Any = None, sort_options: Any = None) -> Any:
        if name == "initialize-with" and self.get("initialize") == "false":
            return None
        return super().get_option(name, context, sort_options)


class Style:
    """One style, parsed once; not thread-safe."""

    def __init__(self, file: str) -> None:
        with (DATA / file).open("rb") as source:
            self._style = CitationStylesStyle(source, locale="en-US", validate=False)
        root = self._style.root
        root.macros = {macro.get("name"): macro for macro in root.findall("cs:macro", root.nsmap)}

    def entry(self, item: Item, *, html: bool) -> str:
        """The reference of ``item``, as plain text or HTML."""
        source = CiteProcJSON([_marked(item)])
        form = formatter.html if html else formatter.plain
        list_of_one = CitationStylesBibliography(self._style, source, form)
        list_of_one.register(Citation([CitationItem(item["id"])]))
        return finished(str(list_of_one.bibliography()[0]), html=html)


def finished(text: str, *, html: bool) -> str:
    """``text`` with quotes, punctuation as in American English, and markup."""
    text = _JOINED.sub(", et al.", text)
    text = re.sub(f"{_CLOSE}{_TAGS}([.,])", rf"\2{_CLOSE}\1", text)
    # A title that ends in a full stop gets no second one.
    text = re.sub(f"([.?!…]){_END}{_TAGS}\\.", r"\1\2", text)
    # citeproc-py drops a doubled stop, but not one after a tag.
    text = re.sub(r"([.,;:])((?:</\w+>)+)\1", r"\1\2", text)
    text = re.sub(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}", _single_inside, text)
    for mark, sign in _SHOWN.items():
        text = text.replace(mark, escape(sign, quote=False) if html else sign)
    return text


def _single_inside(match: re.Match[str]) -> str:
    inner = re.sub(r'"([^"]*)"', r"‘\1’", match[1]).replace("“", "‘").replace("”", "’")
    return f"{_OPEN}{inner}{_CLOSE}"


def _marked(item: Item) -> dict[str, Any]:
    """``item`` with markup hidden from citeproc-py and the case of titles protected.

    A style would write ``src/auth.py`` as ``Src/auth.py``, and capitalize titles of other
    languages as English ones.
    """
    marked: dict[str, Any] = with_texts(item, _hidden)
    if OTHERS in item.get("author", ()):
        marked["author"] = [*marked["author"][:-1], {"literal": _ET_AL}]
    for key in _WORDS:
        if key in marked:
            end = _END if key == "title" else ""
            marked[key] = f'<span class="nocase">{marked[key]}{end}</span>'
    return marked


def _hidden(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split()).translate(_HIDDEN)
