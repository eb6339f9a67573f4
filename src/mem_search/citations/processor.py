"""citeproc-py with its known defects mended: the only module that imports it, and lazily.

citeproc-py 0.11 renders the current styles of APA, MLA and Chicago wrongly in the ways that ADR
0013 lists. Those of its elements are mended by elements below, which citeproc-py takes in place
of its own, because the latter of two classes of one name wins. For the others data is passed in
marked by noncharacters of Unicode, which are for such use alone, and finished here. The tests
write out what must come of it.
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

from mem_search.citations.csl import Item

DATA = Path(__file__).parent / "data"
_OPEN, _CLOSE, _END, _LESS, _MORE, _AND = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5"
_MARKS = re.compile("[\ufdd0-\ufdef]")
_HIDDEN = str.maketrans({"<": _LESS, ">": _MORE, "&": _AND})
_SHOWN = {_OPEN: "“", _CLOSE: "”", _END: "", _LESS: "<", _MORE: ">", _AND: "&"}
_TAGS = r"((?:</?\w+>)*)"
_WORDS = ("title", "container-title", "genre", "archive", "archive_location")
_RENDERED = "variables rendered since the last substitute began"


class Text(model.Text, model.CitationStylesElement):
    """Remembers what was rendered, and marks quotes so that ``finished`` can find them."""

    def get_macro(self, name: str) -> Any:
        # Looking it up by XPath each time takes half of the whole time.
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
    """What stands for a missing author is not said again, also when a macro said it.

    citeproc-py suppresses only a variable named by the substitute itself.
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
    """``initialize="false"`` keeps given names whole; citeproc-py does not know it."""

    def get_option(self, name: str, context: Any = None, sort_options: Any = None) -> Any:
        if name == "initialize-with" and self.get("initialize") == "false":
            return None
        return super().get_option(name, context, sort_options)


class Style:
    """One style, read once. Not for two threads at a time."""

    def __init__(self, file: str) -> None:
        with (DATA / file).open("rb") as source:
            self._style = CitationStylesStyle(source, locale="en-US", validate=False)
        root = self._style.root
        root.macros = {macro.get("name"): macro for macro in root.findall("cs:macro", root.nsmap)}

    def entry(self, item: Item, *, html: bool) -> str:
        """The entry of ``item`` in a list of references, as plain text or HTML."""
        source = CiteProcJSON([_marked(item)])
        form = formatter.html if html else formatter.plain
        list_of_one = CitationStylesBibliography(self._style, source, form)
        list_of_one.register(Citation([CitationItem(item["id"])]))
        return finished(str(list_of_one.bibliography()[0]), html=html)


def finished(text: str, *, html: bool) -> str:
    """``text`` with its quotes, its stops where American English has them, and its markup."""
    text = re.sub(f"{_CLOSE}{_TAGS}([.,])", rf"\2{_CLOSE}\1", text)
    # A title that ends in a stop of its own gets no second one.
    text = re.sub(f"([.?!…]){_END}{_TAGS}\\.", r"\1\2", text)
    # citeproc-py drops a doubled stop itself, but does not see one behind a tag.
    text = re.sub(r"([.,;:])((?:</\w+>)+)\1", r"\1\2", text)
    text = re.sub(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}", _single_inside, text)
    for mark, sign in _SHOWN.items():
        text = text.replace(mark, escape(sign, quote=False) if html else sign)
    return text


def _single_inside(found: re.Match[str]) -> str:
    inner = re.sub(r'"([^"]*)"', r"‘\1’", found[1]).replace("“", "‘").replace("”", "’")
    return f"{_OPEN}{inner}{_CLOSE}"


def _marked(item: Item) -> dict[str, Any]:
    """``item`` with what citeproc-py would take for markup hidden, and words kept as written.

    Titles are cited letter for letter: a style would write ``src/auth.py`` as ``Src/auth.py``,
    and capitals of English titles into those of other languages.
    """
    said = {key: _hidden(value) for key, value in item.items()}
    for key in _WORDS:
        if key in said:
            end = _END if key == "title" else ""
            said[key] = f'<span class="nocase">{said[key]}{end}</span>'
    return said


def _hidden(value: Any) -> Any:
    match value:
        case str():
            return " ".join(_MARKS.sub("", value).split()).translate(_HIDDEN)
        case list():
            return [_hidden(one) for one in value]
        case dict():
            return {key: _hidden(one) for key, one in value.items()}
        case _:
            return value
