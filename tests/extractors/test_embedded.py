"""What pictures and PDFs say of themselves: XMP and EXIF, on small files made here."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mem_search.extractors import embedded, extract
from mem_search.extractors.embedded import Stated
from mem_search.text.dates import iso
from ocr_programs import install_nothing

ASCII, RATIONAL, LONG, BYTE = 2, 5, 4, 1


def tiff(main: dict[int, tuple[int, bytes]], **inner: dict[int, tuple[int, bytes]]) -> bytes:
    """A TIFF header with one directory, and the directories that it points at by their tags."""
    blocks, tables = b"", {}

    def table(entries: dict[int, tuple[int, bytes]], at: int) -> bytes:
        nonlocal blocks
        sizes = {ASCII: 1, RATIONAL: 8, LONG: 4, BYTE: 1}
        rows, behind = b"", at + 2 + 12 * len(entries) + 4
        data = b""
        for tag, (kind, value) in sorted(entries.items()):
            count = len(value) // sizes[kind]
            if len(value) <= 4:
                rows += struct.pack("<HHI4s", tag, kind, count, value.ljust(4, b"\0"))
            else:
                rows += struct.pack("<HHII", tag, kind, count, behind + len(data))
                data += value
        return struct.pack("<H", len(entries)) + rows + b"\0\0\0\0" + data

    pointers = {"exif": 0x8769, "gps": 0x8825}
    main = {**main, **{pointers[name]: (LONG, b"\0\0\0\0") for name in inner}}
    at = 8 + len(table(main, 8))
    for name, entries in inner.items():
        main[pointers[name]] = (LONG, struct.pack("<I", at))
        tables[name] = table(entries, at)
        at += len(tables[name])
    return b"II*\0\x08\0\0\0" + table(main, 8) + b"".join(tables[name] for name in inner) + blocks


def jpeg(exif: bytes = b"", xmp: str = "") -> bytes:
    parts = b""
    for head, data in ((b"Exif\0\0", exif), (b"http://ns.adobe.com/xap/1.0/\0", xmp.encode())):
        if data:
            parts += b"\xff\xe1" + struct.pack(">H", len(head) + len(data) + 2) + head + data
    return b"\xff\xd8" + parts + b"\xff\xd9"


def packet(*properties: str) -> str:
    spaces = "".join(
        f" xmlns:{name}='{where}'"
        for name, where in (
            ("dc", "http://purl.org/dc/elements/1.1/"),
            ("pdf", "http://ns.adobe.com/pdf/1.3/"),
            ("xmp", "http://ns.adobe.com/xap/1.0/"),
            ("photoshop", "http://ns.adobe.com/photoshop/1.0/"),
        )
    )
    return (
        "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
        f"<rdf:Description rdf:about=''{spaces}>{''.join(properties)}</rdf:Description></rdf:RDF>"
        "</x:xmpmeta><?xpacket end='w'?>"
    )


def several(name: str, *items: str, kind: str = "Seq") -> str:
    listed = "".join(f"<rdf:li>{item}</rdf:li>" for item in items)
    return f"<{name}><rdf:{kind}>{listed}</rdf:{kind}></{name}>"


def rational(*values: int) -> bytes:
    return b"".join(struct.pack("<II", value, 1) for value in values)


CAMERA = tiff(
    {
        0x010E: (ASCII, b"Sunset at Cape Ferro\0"),
        0x010F: (ASCII, b"Canon\0"),
        0x0110: (ASCII, b"Canon EOS R7\0"),
        0x013B: (ASCII, b"Mira Castellan\0"),
        0x9C9E: (BYTE, "sea;lighthouse\0".encode("utf-16-le")),
    },
    exif={
        0x9003: (ASCII, b"2025:09:14 19:22:05\0"),
        0x9011: (ASCII, b"+02:00\0"),
    },
    gps={
        1: (ASCII, b"S\0"),
        2: (RATIONAL, rational(33, 51, 36)),
        3: (ASCII, b"E\0"),
        4: (RATIONAL, rational(151, 12, 0)),
    },
)


def stated(tmp_path: Path, data: bytes) -> Stated:
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    return embedded.of_picture(path)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))


def test_what_the_camera_wrote(tmp_path: Path) -> None:
    found = stated(tmp_path, jpeg(CAMERA))
    assert iso(found.created_at or 0) == "2025-09-14T17:22:05.000Z"
    assert found == Stated(
        description="Sunset at Cape Ferro",
        author="Mira Castellan",
        keywords=("sea", "lighthouse"),
        created_at=found.created_at,
        camera="Canon EOS R7",
    )


def test_the_place_is_told_only_if_a_person_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    city = packet("<photoshop:City>Oslo</photoshop:City>")
    assert stated(tmp_path, jpeg(CAMERA)).place == ""
    assert stated(tmp_path, jpeg(xmp=city)).place == ""
    monkeypatch.setenv("MEM_SEARCH_PHOTO_PLACES", "on")
    assert stated(tmp_path, jpeg(CAMERA)).place == "-33.86000, 151.20000"
    assert stated(tmp_path, jpeg(CAMERA, city)).metadata["location"] == "Oslo"


def test_what_people_edit_counts_before_what_the_camera_wrote(tmp_path: Path) -> None:
    xmp = packet(
        "<dc:description><rdf:Alt><rdf:li xml:lang='fr'>Soir</rdf:li>"
        "<rdf:li xml:lang='x-default'>Evening</rdf:li></rdf:Alt></dc:description>",
        several("dc:creator", "Ada", "Grace"),
        several("dc:subject", "dusk", kind="Bag"),
        "<photoshop:DateCreated>2025-09-15</photoshop:DateCreated>",
    )
    found = stated(tmp_path, jpeg(CAMERA, xmp))
    assert (found.description, found.author, found.keywords) == ("Evening", "Ada, Grace", ("dusk",))
    assert found.camera == "Canon EOS R7"
    assert iso(found.created_at or 0).startswith("2025-09-15")


@pytest.mark.parametrize(
    "data",
    [
        jpeg(CAMERA)[:60],
        jpeg(CAMERA).replace(b"2025:09:14", b"9999:99:99"),
        jpeg(xmp=packet("<dc:title>half")),
        jpeg(xmp="<rdf:RDF" * 1000),
        jpeg(tiff({0x010E: (ASCII, b"OLYMPUS DIGITAL CAMERA \0")})),
    ],
)
def test_what_is_damaged_or_said_by_nobody_is_nothing(tmp_path: Path, data: bytes) -> None:
    found = stated(tmp_path, data)
    assert (found.created_at, found.title) == (None, "")
    assert "OLYMPUS" not in found.description


def test_a_photograph_is_found_by_what_was_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nothing(tmp_path, monkeypatch)
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg(CAMERA))
    found = extract(path, path.name)
    assert found.text == "Sunset at Cape Ferro\n\nsea, lighthouse"
    assert (found.tags, found.lacks) == (("sea", "lighthouse"), "ocr")
    assert found.metadata["camera"] == "Canon EOS R7"
    path.write_bytes(jpeg())
    assert extract(path, path.name).text == ""


PDF = (
    "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
    "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"
    "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>\nendobj\n"
    "4 0 obj\n<<{info}>>\nendobj\n{packets}\ntrailer\n<</Root 1 0 R/Info 4 0 R/Size 5>>\n%%EOF"
)


def test_a_pdf_has_its_properties_before_its_xmp(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    of_picture = packet("<dc:title>A picture in it</dc:title>")
    old = packet("<dc:format>application/pdf</dc:format>", "<dc:title>Before</dc:title>")
    new = packet(
        "<dc:format>application/pdf</dc:format>",
        "<dc:description>About lamps.</dc:description>",
        "<xmp:CreateDate>2024-05-06T07:08:09Z</xmp:CreateDate>",
        "<pdf:Keywords>oil, wick</pdf:Keywords>",
    )
    path.write_text(PDF.format(info="/Title(Lamps)/Subject()", packets=old + new + of_picture))
    found = extract(path, path.name)
    assert (found.title, found.tags) == ("Lamps", ("oil", "wick"))
    assert found.metadata == {"pages": 1, "description": "About lamps."}
    assert iso(found.created_at or 0) == "2024-05-06T07:08:09.000Z"
    path.write_text(
        PDF.format(info="/Author(Ada)/Subject(Piers)/Keywords(sea)", packets=of_picture)
    )
    found = extract(path, path.name)
    assert (found.title, found.tags) == ("", ("sea",))
    assert found.metadata == {"pages": 1, "author": "Ada", "description": "Piers"}
