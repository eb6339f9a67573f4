"""Office files and e-books: ZIP archives of XML, read with limits.

Nothing is unpacked to the disk. A bomb, a path that leaves the archive and an encrypted member
raise Unreadable.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from lxml import etree

from mem_search.extractors.refusal import Unreadable
from mem_search.patterns import pattern
from mem_search.zip_files import TooManyNames, open_zip

MAX_BYTES: Final = 150 * 2**20
"""What one member, and all that are read, may unpack to."""

MAX_RATIO: Final = 400
"""Real XML is packed to a hundredth at most; a bomb to a thousandth."""

_RATIO_FROM: Final = 4 * 2**20

_NUMBERED: Final = pattern(
    r"^(word/(?:_rels/)?document|xl/(?:_rels/)?workbook|ppt/(?:_rels/)?presentation)\d+(\.xml)"
)
"""The main part of an Office file, as some servers number it: ``word/document2.xml``."""

_OF_TEMPLATES: Final = frozenset(
    "1601-01-01T00:00:00Z 1970-01-01T00:00:00Z 1980-01-01T00:00:00Z"  # of clocks and archives
    " 1996-10-14T23:33:28Z 2006-09-12T15:06:44Z 2006-09-13T11:21:51Z 2006-09-16T00:00:00Z"
    " 2006-09-28T05:33:49Z 2015-06-05T18:17:20Z 2015-06-05T18:19:34Z"  # of Excel
    " 2006-08-16T00:00:00Z 2011-08-01T06:04:30Z 2013-01-27T09:14:16Z 2013-01-27T09:15:58Z"
    " 2013-12-23T23:15:00Z".split()  # of PowerPoint, Canva, python-pptx and python-docx
)
"""When the empty file was made that a program begins with: no date of what was written into it."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


class Package:
    """The members of an archive, read within limits."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._read = 0
        self._own = _usual_names(archive)
        self.names = frozenset(self._own)
        for name in self.names:
            if name.startswith("/") or ".." in Path(name.replace("\\", "/")).parts:
                raise Unreadable(f"a path in it leaves the archive: {name[:100]!r}")

    def size(self, name: str) -> int:
        """Of a member, in bytes."""
        return self._archive.getinfo(self._own[name]).file_size

    def data(self, name: str) -> bytes:
        """The content of a member. Raises Unreadable."""
        with self.stream(name) as member:
            try:
                return member.read(self.size(name) + 1)
            except _DAMAGED as error:
                raise Unreadable(f"it is damaged: {name}: {error}") from error

    @contextmanager
    def stream(self, name: str) -> Iterator[IO[bytes]]:
        """A member to be read bit by bit. Raises Unreadable."""
        try:
            info = self._archive.getinfo(self._own[name])
        except KeyError:
            raise Unreadable(f"it is incomplete: {name} is missing") from None
        if info.flag_bits & 1:
            raise Unreadable("it is encrypted with a password; save it without one")
        packed, size = max(1, info.compress_size), info.file_size
        self._read += size
        if self._read > MAX_BYTES or (size > _RATIO_FROM and size / packed > MAX_RATIO):
            raise Unreadable(f"it unpacks to far more than it holds (a ZIP bomb): {name}")
        try:
            with self._archive.open(info) as member:
                yield member
        except _DAMAGED as error:
            raise Unreadable(f"it is damaged: {name}: {error}") from error

    def xml(self, name: str) -> Any:
        """The root element of a member. Entities are not resolved, nothing is fetched."""
        try:
            return parsed(self.data(name))
        except etree.XMLSyntaxError as error:
            raise Unreadable(f"it is damaged: {name}: {error}") from error

    def matching(self, start: str, end: str = ".xml") -> list[str]:
        """Names of members, ``slide2`` before ``slide10``."""
        names = [name for name in self.names if name.startswith(start) and name.endswith(end)]
        return sorted(names, key=lambda name: (len(name), name))

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """Id → (type, member) of the relations of a part of an Office file."""
        folder, name = posixpath.split(part)
        rels = f"{folder}/_rels/{name}.rels"
        if rels not in self.names:
            return {}
        targets = {}
        for relation in self.xml(rels):
            if relation.get("TargetMode") != "External" and relation.get("Target"):
                joined = posixpath.normpath(posixpath.join("/", folder, relation.get("Target")))
                kind = str(relation.get("Type", "")).rpartition("/")[2]
                targets[relation.get("Id", "")] = (kind, joined.lstrip("/"))
        return targets

    def properties(self) -> dict[str, Any]:
        """What an Office file says of itself: the arguments for ``Extracted``."""
        if "docProps/core.xml" not in self.names:
            return {}
        return described(self.xml("docProps/core.xml"))


def _usual_names(archive: zipfile.ZipFile) -> dict[str, str]:
    """The names of the members as most programs write them, and as this archive has them."""
    own = {name.replace("\\", "/"): name for name in archive.namelist()}
    return {_NUMBERED.sub(r"\1\2", each): name for each, name in own.items()} | own


@contextmanager
def opened(path: Path) -> Iterator[Package]:
    """The archive at ``path``. Raises Unreadable for one that is damaged."""
    with path.open("rb") as file:
        try:
            archive = open_zip(file)
        except TooManyNames as error:
            raise Unreadable(str(error)) from error
        except _DAMAGED as error:
            raise Unreadable(f"it is damaged or cut off: {error}") from error
        with archive:
            yield Package(archive)


def holds(path: Path, head: bytes, *names: str) -> bool:
    """Whether the file is an archive with one of these members."""
    if not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with path.open("rb") as file, open_zip(file) as archive:
            return not set(names).isdisjoint(_usual_names(archive))
    except _DAMAGED:
        return False


def parsed(data: bytes) -> Any:
    """The root element of an XML document."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def parsed_file(path: Path) -> Any:
    """The root element of an XML file. Raises Unreadable."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=False)
    try:
        return etree.parse(path, parser).getroot()
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"it is damaged or cut off: {error}") from None


def local(element: Any) -> str:
    """The name of an element without its namespace; empty for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute by its name without the namespace."""
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def described(root: Any) -> dict[str, Any]:
    """Title, author, date and keywords of a Dublin Core description."""
    properties: dict[str, str] = {}
    for element in root.iter():
        text = " ".join("".join(element.itertext()).split()) if isinstance(element.tag, str) else ""
        if text and not len(element):
            properties.setdefault(local(element).lower(), text)
    author = properties.get("creator") or properties.get("initial-creator") or ""
    description: dict[str, Any] = {"title": properties.get("title", ""), "metadata": {}}
    if author:
        description["metadata"]["author"] = author
    dates = ("created", "creation-date", "date", "modified")
    if (at := stated_date(*(properties.get(date, "") for date in dates))) is not None:
        description["created_at"] = at
    if keywords := properties.get("keywords") or properties.get("keyword"):
        words = [word.strip() for word in keywords.replace(";", ",").split(",")]
        description["tags"] = tuple(word for word in words if word and len(word) < 50)[:20]
    return description


def stated_date(*said: str) -> int | None:
    """The first of the moments that a document says of itself which is one."""
    dates = (moment(each) for each in said if each not in _OF_TEMPLATES)
    return next((at for at in dates if at is not None), None)


def moment(text: str) -> int | None:
    """An ISO date in ms since 1970, without a zone in that of this machine; None for others.

    What a person dates with a day alone has that day here, and not the one before.
    """
    try:
        at = datetime.fromisoformat(text.strip())
        return round(at.timestamp() * 1000) if 1 < at.year < 9999 else None
    except (ValueError, OverflowError):
        return None
