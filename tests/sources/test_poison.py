"""A folder of files that are made to hurt: each has its reason, and the good one is read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from mem_search.model import Batch, Location
from mem_search.sources.files import Files

WORDS = "The lamp burns."


def pdf(pages: int = 1, encryption: str = "") -> bytes:
    """A PDF of so many equal pages."""
    stream = f"BT /F1 12 Tf 20 20 Td ({WORDS}) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids["
        + " ".join(f"{number} 0 R" for number in range(5, 5 + pages))
        + "]>>",
        "<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        *(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 50]/Contents 4 0 R/Resources 3 0 R>>"
            for _ in range(pages)
        ),
    ]
    body, places = "%PDF-1.4\n", []
    pieces, at = [body], len(body)
    for number, text in enumerate(objects, 1):
        places.append(f"{at:010} 00000 n \n")
        pieces.append(f"{number} 0 obj\n{text}\nendobj\n")
        at += len(pieces[-1])
    count = len(objects) + 1
    table = f"xref\n0 {count}\n0000000000 65535 f \n" + "".join(places)
    trailer = f"trailer\n<</Root 1 0 R/Size {count}{encryption}>>\nstartxref\n{at}\n%%EOF"
    return "".join([*pieces, table, trailer]).encode()


def encrypted_pdf() -> bytes:
    """With a user password that nobody knows (PDF 1.7, 7.6.3: revision 2)."""
    nothing = "00" * 32
    return pdf(
        encryption=f"/ID[<{'11' * 16}><{'11' * 16}>]"
        f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{nothing}>/U<{'ab' * 32}>>>"
    )


def archive(name: str, text: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", "<w xmlns:w='w'/>")
        file.writestr(name, text)
    return data.getvalue()


def encrypted_member() -> bytes:
    """An Office file whose members have the flag of a password set (APPNOTE 4.4.4)."""
    data = bytearray(archive("word/other.xml", WORDS))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(data)


def bomb() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", "0" * 20_000_000)
    return data.getvalue()


POISON: dict[str, tuple[bytes, str]] = {
    "bomb.docx": (bomb(), "a ZIP bomb"),
    "encrypted.pdf": (encrypted_pdf(), "encrypted with a password"),
    "encrypted.docx": (encrypted_member(), "encrypted with a password"),
    "escaping.docx": (archive("../../etc/passwd", "x"), "leaves the archive"),
    "half.pdf": (b"%PDF-1.4 half of it", "damaged or cut off"),
    "half.docx": (archive("x", WORDS)[:-40], "damaged or cut off"),
    "empty.md": (b"", "it is empty"),
    "error.pdf": (b"404 Not found", "its name says that it is a PDF, but"),
    "program.txt": (b"\x7fELF\x02\x01\x01" + bytes(64), "a program"),
    "deep.html": (b"<div>" * 200_000, ""),
    "entities.docx": (b"PK\x05\x06" + bytes(18), ""),
}


def test_each_poison_has_its_reason_and_stops_nothing(tmp_path: Path) -> None:
    for name, (data, _) in POISON.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "zz-good.txt").write_text(WORDS)
    batches: list[Batch] = list(Files().read(Location("files", str(tmp_path)), {}))
    entries = {entry.item: entry for batch in batches for entry in batch.ledger}
    assert set(entries) == {*POISON, "zz-good.txt"}
    for name, (_, reason) in POISON.items():
        if reason:
            assert entries[name].outcome in ("failed", "left"), name
            assert reason in entries[name].reason, (name, entries[name].reason)
        assert entries[name].outcome == "taken" or entries[name].reason, name
    assert entries["zz-good.txt"].outcome == "taken"
    texts = [draft.text for batch in batches for draft in batch.drafts]
    assert not any("root:" in text for text in texts)


def test_ten_thousand_pages_are_read_within_the_limits(tmp_path: Path) -> None:
    (tmp_path / "long.pdf").write_bytes(pdf(10_000))
    batches = list(Files().read(Location("files", str(tmp_path / "long.pdf")), {}))
    (draft,) = [draft for batch in batches for draft in batch.drafts]
    assert (draft.metadata["pages"], draft.text.count(WORDS)) == (10_000, 10_000)
