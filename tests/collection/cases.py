"""What a file of the collection is: its kind, its shape, and what reading it must give."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import NamedTuple


class Case(NamedTuple):
    """A file, or several that belong together. What is not in ``said`` may not be in the ledger."""

    kind: str
    shape: str
    files: Mapping[str, bytes]
    found: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    """Parts of sentences of the ledger and of ``unread``; nothing else may be said."""
    records: int = 0
    """How many, where it matters."""


def case(
    name: str,
    shape: str,
    data: bytes | str,
    *found: str,
    kind: str = "",
    absent: tuple[str, ...] = (),
    said: tuple[str, ...] = (),
    records: int = 0,
) -> Case:
    """One file called ``name``; its end is its kind unless another ``kind`` is given."""
    given = data.encode() if isinstance(data, str) else data
    kind = kind or name.rpartition(".")[2].lower()
    return Case(kind, shape, {name: given}, found, absent, said, records)


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return data.getvalue()
