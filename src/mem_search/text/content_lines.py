"""Content lines, of which vCards (RFC 6350, and 2.1) and calendars (RFC 5545) consist.

A line is ``NAME;PARAMETER=VALUE:value``. Long lines are folded, also within a character of UTF-8;
vCard 2.1 has quoted-printable values, which go on after a ``=`` at the end of a line.
"""

from __future__ import annotations

import quopri
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mem_search.patterns import pattern
from mem_search.text import charsets

MAX_DEPTH: Final = 10
"""Components in components. A calendar has an alarm in an event."""

_NAME: Final = pattern(rb"(?:[\w-]{1,100}\.)?(?P<name>[A-Za-z][\w-]{0,100})(?=[;:])")
_PARAMETER: Final = pattern(rb';\s*([\w-]{1,100})(?:=((?:"[^"]*"|[^";:])*))?')
_VALUE: Final = pattern(r'(?:"[^"]*"|[^",])+')
_ESCAPE: Final = pattern(r"\\([\\,;nN:])")
_UNESCAPED: Final = {";": pattern(r"(?<!\\)(?:\\\\)*;"), ",": pattern(r"(?<!\\)(?:\\\\)*,")}
_ENCODINGS: Final = ("quoted-printable", "base64", "b", "8bit", "7bit")


@dataclass(frozen=True, slots=True)
class Property:
    """A line; parameters are by their names in upper case, those without a name are its ``TYPE``.

    ``raw`` is the value with its escapes.
    """

    name: str
    parameters: dict[str, list[str]]
    raw: str

    @property
    def text(self) -> str:
        """The value without escapes."""
        return unescaped(self.raw)

    @property
    def types(self) -> list[str]:
        """``CELL``, ``HOME``, …, as they are written."""
        return [each for each in self.parameters.get("TYPE", ()) if each.lower() != "pref"]

    @property
    def is_binary(self) -> bool:
        """Whether the value is a picture, a sound or a key."""
        how = [each.lower() for each in self.parameters.get("ENCODING", ())]
        return "base64" in how or "b" in how or self.raw.startswith("data:")

    def parts(self, separator: str = ";") -> list[str]:
        """The fields of a value that has several, without escapes."""
        fields, start = [], 0
        for match in _UNESCAPED[separator].finditer(self.raw):
            fields.append(self.raw[start : match.end() - 1])
            start = match.end()
        return [unescaped(each).strip() for each in (*fields, self.raw[start:])]


@dataclass(slots=True)
class Component:
    """What stands between ``BEGIN:NAME`` and ``END:NAME``."""

    name: str
    properties: list[Property] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    is_whole: bool = False

    def all(self, *names: str) -> list[Property]:
        """The properties of these names that have a value."""
        return [each for each in self.properties if each.name in names and each.raw.strip()]

    def text(self, *names: str) -> str:
        """The value of the first of ``names`` that is there."""
        properties = (self.all(name) for name in names)
        return next((each[0].text.strip() for each in properties if each), "")


def unescaped(text: str) -> str:
    """``text`` without the backslashes before commas, semicolons and ends of lines."""
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)


def components(data: bytes) -> Iterator[Component]:
    """The outermost components of a file, one at a time; of one that is cut off, what is there.

    What stands outside of all components is left out.
    """
    open_ones: list[Component] = []
    # UTF-16 has a zero in each end of a line.
    if charsets.wide(data[:4096]) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = charsets.decoded(data).encode()
    for line in _unfolded(data):
        prop = _property(line)
        if prop is None:
            continue
        value = prop.raw.strip().upper()
        if prop.name == "BEGIN":
            if len(open_ones) > MAX_DEPTH:
                raise ValueError(f"its parts are nested deeper than {MAX_DEPTH}")
            component = Component(value)
            if open_ones:
                open_ones[-1].components.append(component)
            open_ones.append(component)
        elif prop.name == "END":
            if open_ones:
                ended = open_ones.pop()
                ended.is_whole = True
                if not open_ones:
                    yield ended
        elif open_ones:
            open_ones[-1].properties.append(prop)
    if open_ones:
        yield open_ones[0]


def _unfolded(data: bytes) -> Iterator[bytes]:
    """Whole lines. Programs leave out the blank before a base64 line, and write it twice."""
    current: list[bytes] = []
    goes_on = False
    for line in data.removeprefix(b"\xef\xbb\xbf").splitlines():
        if goes_on and not _NAME.match(line):
            current[-1] = current[-1][:-1]  # the soft line break
            current.append(line)
        elif line[:1] in (b" ", b"\t") and current:
            current.append(line[1:])
        elif line.strip() and current and not _NAME.match(line) and _is_base64(current[0]):
            current.append(line)
        else:
            if current:
                yield b"".join(current)
            current = [line] if line.strip() else []
        is_quoted = bool(current) and b"QUOTED-PRINTABLE" in current[0].upper().partition(b":")[0]
        goes_on = is_quoted and line.rstrip().endswith(b"=")
    if current:
        yield b"".join(current)


def _is_base64(line: bytes) -> bool:
    parameters = line.partition(b":")[0].upper()
    return b"BASE64" in parameters or b"ENCODING=B" in parameters


def _property(line: bytes) -> Property | None:
    name = _NAME.match(line)
    if name is None:
        return None
    parameters: dict[str, list[str]] = {}
    at = name.end()
    while match := _PARAMETER.match(line, at):
        at = match.end()
        key = match[1].decode("ascii", "replace").upper()
        if match[2] is None:  # of vCard 2.1: TEL;CELL:
            values, key = [key], "ENCODING" if key.lower() in _ENCODINGS else "TYPE"
        else:
            written = charsets.decoded(match[2])
            values = [each.strip().strip('"') for each in _VALUE.findall(written)]
        parameters.setdefault(key, []).extend(values)
    if line[at : at + 1] != b":":
        return None
    value = line[at + 1 :]
    if "QUOTED-PRINTABLE" in (each.upper() for each in parameters.get("ENCODING", ())):
        value = quopri.decodestring(value)
    label = (parameters.get("CHARSET") or [""])[0]
    text = charsets.decoded(value, label) if not value.isascii() else value.decode("ascii")
    return Property(name["name"].decode("ascii").upper(), parameters, text)
