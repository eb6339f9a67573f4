r"""Secrets whose name heads a column, and those of files with a login on each line.

A table is a head, a line of names of which one names a secret, and the lines that have as many
cells: CSV and its like, Markdown, reStructuredText, what ``psql`` and ``mysql`` print. Statements
of SQL and tables of HTML are read likewise. Each line is looked at once, so the time is linear in
the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.secret_places import Span, with_breaks
from mem_search.text.secret_values import is_secret, is_told

Names = Callable[[str], Sequence[tuple[int, int, str]]]
"""(start, end, name) of each name of a secret in a text."""
NameOf = Callable[[str], str]
"""The name of a secret that a text is; "" for another."""

_MAX_LINE_CHARS: Final = 4_000
"""Longer lines are no heads and no rows that a person reads."""
_MAX_CELL_CHARS: Final = 400
_SEPARATORS: Final = ("|", "\t", ";", ",")
_LINE_OF_SIGNS: Final = pattern(r"[ \t]*[-+=|:][-+=|: \t]*\r?")
_RULE_OF_COLUMNS: Final = pattern(r"[=-]{2,}(?:[ ]{1,8}[=-]{2,}){1,60}[ \t]*\r?")
_HEADING: Final = pattern(r"[\w .@/#*`-]{1,60}")
_MARKUP: Final = " \t\r*`\"'"
_QUOTED: Final = pattern(r'[ \t]{0,9}"(?:[^"\n]|""){0,400}+"')
_BESIDE: Final = pattern(r"""s?[ \t*`"']{0,20}\|(?P<value>[^|\n]{1,400})(?=[|\n]|\Z)""")
"""``| DB_PASSWORD | its value |``"""
_GAP: Final = pattern(r"[ ]{2,}")


def columns(text: str, names: Names, name_of: NameOf) -> Iterator[Span]:
    """Values in the columns of tables whose head names a secret, or right of a cell that does."""
    places, read = names(text), 0
    if not places:
        return
    text = _unescaped(text)
    for start, name_end, name in places:
        if beside := _BESIDE.match(text, name_end):
            yield from _judged(text, 0, beside.span("value"), name, "|")
        if start < read:
            continue
        first = text.rfind("\n", read, start) + 1 or read
        read = _line_end(text, start) + 1
        if read - first > _MAX_LINE_CHARS:
            continue
        head = text[first : read - 1]
        table = _table(head, text[read : _line_end(text, read)], name_of)
        if table is None:
            continue
        separator, told, count = table
        while read < len(text):
            end = _line_end(text, read)
            row = text[read:end] if end - read <= _MAX_LINE_CHARS else ""
            if not _LINE_OF_SIGNS.fullmatch(row):
                cells = _cells(row, separator)
                if len(cells) < 2 or (separator in ",;\t" and len(cells) != count):
                    break
                for place, heading in told.items():
                    if place < len(cells):
                        yield from _judged(row, read, cells[place], heading, separator)
            read = end + 1


def _unescaped(text: str) -> str:
    """``text`` as it is outside of a string of JSON; each character stays in its place."""
    if "\\" not in text:
        return text
    text = with_breaks(text)
    for escaped, plain in (("\\t", " \t"), ("\\r", "  "), ('\\"', '" ')):
        text = text.replace(escaped, plain)
    return text


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _table(head: str, following: str, name_of: NameOf) -> tuple[str, dict[int, str], int] | None:
    """The separator, the columns of secrets with their names, and how many columns there are."""
    if _RULE_OF_COLUMNS.fullmatch(following) and "|" not in head:
        separators: Sequence[str] = (" ",)
    else:
        separators = [each for each in _SEPARATORS if each in head][:1]
    for separator in separators:
        cells = _cells(head, separator)
        texts = [head[start:end].strip(_MARKUP) for start, end in cells]
        if len(cells) < 2 or not all(_HEADING.fullmatch(each) for each in texts if each):
            continue
        if head[:1].isspace() and separator in ",;":
            continue  # a list in code
        told = {place: name for place, each in enumerate(texts) if (name := name_of(each))}
        if told:
            return separator, told, len(cells)
    return None


def _cells(row: str, separator: str) -> list[tuple[int, int]]:
    """(start, end) of each cell. A separator between double quotes ends none."""
    if separator == " ":
        gaps = [(0, 0), *(gap.span() for gap in _GAP.finditer(row)), (len(row), len(row))]
        return [(before[1], after[0]) for before, after in pairwise(gaps)]
    cells, at = [], 0
    while at <= len(row):
        quoted = _QUOTED.match(row, at) if separator != "|" else None
        end = row.find(separator, quoted.end() if quoted else at)
        end = end if end >= 0 else len(row)
        cells.append((at, end))
        at = end + 1
    return cells


def _judged(row: str, at: int, cell: tuple[int, int], name: str, separator: str) -> Iterator[Span]:
    start, end = cell
    value = row[start:end].strip(_MARKUP)
    # Where nothing but values stands, also one that looks like a word is meant.
    plain = separator in ",;\t(" and is_told(name, value)
    if (
        value
        and len(value) <= _MAX_CELL_CHARS
        and (plain or is_secret(value, "string", password=True))
    ):
        first = at + row.index(value, start)
        yield first, first + len(value), "password"


# ---- SQL and HTML ----------------------------------------------------------------------------

_INTO: Final = pattern(
    r"(?i:into)\s{1,9}[\w.\"`\[\]-]{1,100}\s{0,9}\((?P<names>[^()]{1,2000})\)\s{0,9}(?i:values?)\s{0,9}"
)
_FROM_STDIN: Final = pattern(r"(?i:copy)\s{1,9}[\w.\"]{1,100}\s{0,3}\((?P<names>[^()]{1,2000})\)"
                             r"\s{1,9}(?i:from stdin)[^\n]{0,100}\n")  # fmt: skip
_ITEM: Final = pattern(
    r"\s{0,40}(?:(?P<quote>[nNeE]?'|\")(?P<text>(?:[^'\"\\]|''|\\.){0,2000}?)(?:'|\")"
    r"|(?P<other>[\w.$@:-]{0,99}\([^()]{0,400}\)|[^,()'\"]{0,400}))\s{0,40}(?P<sign>[,)])"
)
_NEXT_ROW: Final = pattern(r"\s{0,40},?\s{0,40}\(")
_CELL: Final = pattern(
    r"<(?i:(?P<row>tr|table)|t(?P<kind>[hd]))\b[^<>]{0,300}>"
    r"(?:(?:\s|<[^<>]{0,200}>){0,20}(?P<value>[^\s<>]{1,400})[^<>]{0,200}(?=<))?"
)


def statements(text: str, names: Names, name_of: NameOf) -> Iterator[Span]:
    """Values of ``INSERT INTO users (name, password) VALUES ('ada', '…')``, and of ``COPY``."""
    if not names(text):
        return
    text = _unescaped(text)
    for match in _INTO.finditer(text):
        told = _told(match["names"], name_of)
        at = match.end()
        while told and (row := _NEXT_ROW.match(text, at)):
            at, place = row.end(), 0
            while item := _ITEM.match(text, at):
                if place in told and item["text"] is not None:
                    yield from _judged(text, 0, item.span("text"), told[place], "(")
                at, place = item.end(), place + 1
                if item["sign"] == ")":
                    break
            else:
                break
    for match in _FROM_STDIN.finditer(text):
        told, at = _told(match["names"], name_of), match.end()
        while told and at < len(text) and not text.startswith("\\.", at):
            end = _line_end(text, at)
            cells = _cells(text[at:end], "\t")
            if len(cells) <= max(told):
                break
            for place, name in told.items():
                yield from _judged(text[at:end], at, cells[place], name, "\t")
            at = end + 1


def _told(names: str, name_of: NameOf) -> dict[int, str]:
    numbered = enumerate(name.strip(" \t\r\n\"`[]'") for name in names.split(","))
    return {place: secret for place, name in numbered if (secret := name_of(name))}


def html_tables(text: str, names: Names, name_of: NameOf) -> Iterator[Span]:
    """Values of an HTML table under a heading that names a secret, or right of one."""
    if ("<t" not in text and "<T" not in text) or not names(text):
        return
    told: dict[int, str] = {}
    place, beside, is_first = 0, "", True
    for match in _CELL.finditer(text):
        if match["row"]:
            is_first = match["row"].lower() == "table" or (is_first and not place)
            told = {} if match["row"].lower() == "table" else told
            place, beside = 0, ""
            continue
        value = match["value"] or ""
        name = name_of(value)
        if match["kind"] in "hH" or is_first:
            if name:
                told[place] = name
        elif value and (place in told or beside):
            yield from _judged(text, 0, match.span("value"), told.get(place, beside), "|")
        beside = name
        place += 1


# ---- files of logins ---------------------------------------------------------------------------

_LINES: Final = tuple(
    (sign, pattern(form))
    for sign, form in (
        # .pgpass
        (":", r"(?m:^)(?:[\w.*-]{1,100}):(?:[0-9]{2,5}|\*):[\w*-]{1,60}:[\w.@*-]{1,60}:"
              r"(?P<value>[^\s:]{4,200})(?=\s|\Z)"),
        ("{S", r":\{(?:S?SHA(?:256|384|512)?|SMD5|CRYPT)\}(?P<value>[\w+/$.=]{8,200})"),
        # htdigest
        (":", r"(?m:^)[\w.@-]{1,60}:[\w .@-]{1,60}:(?P<value>[0-9a-f]{32})(?![\w:])"),
    )
)  # fmt: skip


def lines(text: str) -> Iterator[Span]:
    """Passwords and their hashes in files of logins."""
    text = with_breaks(text)
    for sign, form in _LINES:
        for match in form.finditer(text) if sign in text else ():
            value = match["value"]
            if is_secret(value, "string", password=True):
                yield (*match.span("value"), "password")
