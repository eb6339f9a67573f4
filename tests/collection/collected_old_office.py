"""Files of Office from before 2007, binary workbooks, and shapes of RTF and OpenDocument that real
programs write. Each is made here, record by record."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import struct

from cases import case, zipped
from collected_office import OBJECT, ole, rtf, word

from office_files import opendocument


def record(number: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", number, len(body)) + body


def letters(text: str) -> bytes:
    """Text of Excel 97: a byte that says how it is written, and its letters."""
    return b"\1" + text.encode("utf-16-le")


def label(row: int, column: int, text: str) -> bytes:
    return record(0x204, struct.pack("<HHHH", row, column, 15, len(text)) + letters(text))


def number(row: int, column: int, value: float, style: int) -> bytes:
    return record(0x203, struct.pack("<HHHd", row, column, style, value))


def text_box(text: str) -> bytes:
    """A text that is cut in two records, as a long one is."""
    head = record(0x5D, struct.pack("<5H12xHH", 0x15, 18, 6, 1, 0x6011, 0, 0))
    head += record(0x1B6, bytes(10) + struct.pack("<HHI", len(text), 0, 0))
    half = len(text) // 2
    return head + record(0x3C, letters(text[:half])) + record(0x3C, letters(text[half:]))


def edge(number: int, text: str) -> bytes:
    return record(number, struct.pack("<H", len(text)) + letters(text))


def biff(*cells: bytes, formats: tuple[str, ...] = ()) -> bytes:
    """A workbook with one sheet; style 16 is the first of ``formats``."""
    start = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 6))
    start += record(0x42, struct.pack("<H", 1200))
    start += (
        record(0x31, struct.pack("<HHHHHBBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0, 5) + b"\0Arial")
        * 5
    )
    for at, code in enumerate(formats):
        start += record(0x41E, struct.pack("<HH", 164 + at, len(code)) + letters(code))
    for form in (*[0] * 16, *(164 + at for at in range(len(formats)))):
        start += record(0xE0, struct.pack("<HHH", 0, form, 1) + bytes(14))
    sheet = (
        record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 6))
        + b"".join(cells)
        + record(0x0A)
    )
    name = "Berths"
    place = len(start) + 4 + 8 + 2 * len(name) + 4  # after this list of one sheet, and its end
    start += record(0x85, struct.pack("<IBBB", place, 0, 0, len(name)) + letters(name)) + record(
        0x0A
    )
    return start + sheet


def said_of_itself(title: str, author: str, created: int) -> bytes:
    """The stream of MS-OLEPS with three properties; ``created`` counts 100 ns since 1601."""

    def text(value: str) -> bytes:
        data = value.encode("cp1252") + b"\0"
        return struct.pack("<II", 0x1E, len(data)) + data + bytes(-len(data) % 4)

    values = {
        1: struct.pack("<Ihh", 2, 1252, 0),
        2: text(title),
        4: text(author),
        12: struct.pack("<IQ", 0x40, created),
    }
    at, table, body = 8 + 8 * len(values), b"", b""
    for key, value in values.items():
        table += struct.pack("<II", key, at + len(body))
        body += value
    part = struct.pack("<II", at + len(body), len(values)) + table + body
    form = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
    return struct.pack("<HHI16xI", 0xFFFE, 0, 0x20006, 1) + form + struct.pack("<I", 48) + part


CELLS = (label(0, 0, "Berth Godwit"), number(0, 1, 0.0375, 16), number(1, 1, 1234.5, 17))
FORMATS = ("0.00%", '#,##0.00\\ "kr"')
MARCH_2019 = 131_965_632_000_000_000


def xls(shape, *cells, found=(), name="a.xls", more=(), **said):
    data = ole(("Workbook", biff(*CELLS, *cells, formats=FORMATS)), *more)
    return case(name, shape, data, "Berth Godwit", *found, kind="xls", **said)


def word_97(main: str, comment: str = "", *, encrypted: bool = False) -> bytes:
    """A document with a comment: its head (the FIB), its letters, and the list of their pieces."""
    head = bytearray(0x400)
    struct.pack_into("<HH6xH", head, 0, 0xA5EC, 0xC1, 0x200 | 0x100 * encrypted)
    first, second = main.encode("cp1252"), comment.encode("utf-16-le")
    counted = len(main), 0, 0, 0, len(second) // 2, 0, 0, 0
    struct.pack_into("<8I", head, 0x4C, *counted)
    ends = struct.pack("<3I", 0, len(main), len(main) + len(second) // 2)
    places = struct.pack("<HIHHIH", 0, 2 * 0x400 | 0x40000000, 0, 0, 0x400 + len(first), 0)
    pieces = b"\2" + struct.pack("<I", len(ends + places)) + ends + places
    struct.pack_into("<II", head, 0x1A2, 0, len(pieces))
    return ole(("WordDocument", bytes(head) + first + second), ("1Table", pieces))


WORD_97 = "Berth Avocet\r\x13 HYPERLINK x \x14Linked Crake\x15\rRow\x07Cell\x07\x07Non\x1ebreaking"


def bits(number: int, body: bytes = b"") -> bytes:
    """A record of MS-XLSB: number and size in seven bits a byte."""
    head = bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])
    size = (
        bytes([len(body)]) if len(body) < 128 else bytes([len(body) & 0x7F | 0x80, len(body) >> 7])
    )
    return head + size + body


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(**parts: bytes) -> bytes:
    sheets = (
        bits(131)
        + bits(143)
        + bits(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("Berths"))
        + bits(144)
        + bits(132)
    )
    cell = bits(0, struct.pack("<II", 0, 0) + bytes(9)) + bits(
        6, struct.pack("<II", 0, 0) + wide("Cell Whimbrel")
    )
    head = bits(479, struct.pack("<H", 0) + wide("&CHead Turnstone") + struct.pack("<i", -1) * 5)
    sheet = (
        bits(129)
        + bits(148, struct.pack("<4I", 0, 0, 0, 0))
        + bits(145)
        + cell
        + bits(146)
        + head
        + bits(480)
        + bits(130)
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
    return zipped({
        "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
        "xl/_rels/workbook.bin.rels": f"<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='rId1' Type='{kind}' Target='worksheets/sheet1.bin'/></Relationships>",
        "xl/workbook.bin": sheets,
        "xl/worksheets/sheet1.bin": sheet,
        **{name.replace("__", "/").replace("_bin", ".bin").replace("_xml", ".xml"): data for name, data in parts.items()},
    })  # fmt: skip


DRAWING = b"<xdr:wsDr xmlns:xdr='x' xmlns:a='a'><xdr:sp><xdr:txBody><a:p><a:r><a:t>Box Redwing</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>"
WORD_GROUPS = r"{\*\mmathPr\mmathFont34\mbrkBin0\mlMargin0}{\*\htmltag64 <p class=evil>}{\field{\*\fldinst{HYPERLINK x}}{\*\fldtitle{C:\\Dips.doc}}{\fldrslt Linked Siskin}}"
MASTER = "<office:document-styles xmlns:office='o' xmlns:style='s' xmlns:draw='d' xmlns:text='t' xmlns:presentation='p'><office:master-styles><style:master-page><draw:frame presentation:class='footer'><draw:text-box><text:p>Foot Pintail</text:p></draw:text-box></draw:frame><draw:frame presentation:placeholder='true'><draw:text-box><text:p>Click to edit</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p><text:page-number>&lt;number&gt;</text:page-number></text:p></draw:text-box></draw:frame></style:master-page></office:master-styles></office:document-styles>"
FLAT = "<?xml version='1.0'?><office:document xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' xmlns:text='t' xmlns:draw='d' xmlns:table='b'><office:body><office:%s</office:body></office:document>"

OLD_OFFICE = (
    xls("numbers as they are shown", found=("3.75%", "1,234.50 kr")),
    xls("head, foot and text box", edge(0x14, "&L&\"Arial,Bold\"Head Snipe&R&P"), edge(0x15, "&CFoot Stilt"), text_box("A box that says Tattler"), found=("Head Snipe", "Foot Stilt", "A box that says Tattler")),
    xls("title of a chart", record(0x100D, struct.pack("<HB", 0, 12) + letters("Chart Willet")), found=("Chart Willet",)),
    xls("title, author and date of its own", found=("Fees of the pier", "Ebba Ruff"), more=(("\5SummaryInformation", said_of_itself("Fees of the pier", "Ebba Ruff", MARCH_2019)),)),
    xls("template with another name", name="a.xlt"),
    case("a.xls", "encrypted", ole(("Workbook", record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 6)) + record(0x2F, struct.pack("<HHHH", 1, 1, 1, 1) + bytes(48)) + record(0x0A))), kind="xls", said=("encrypted with a password",)),
    case("a.xlsb", "head, comment and text box", xlsb(xl__drawings__drawing1_xml=DRAWING, xl__comments1_bin=bits(637, b"\0" + wide("Note Sora"))), "Cell Whimbrel", "Head Turnstone", "Note Sora", "Box Redwing"),
    word("workbook of before 2007 inside", "<w:p><w:r><w:t>See Ruddy</w:t></w:r></w:p>", "See Ruddy", "Berth Godwit", "3.75%", parts={"word/embeddings/oleObject1.bin": ole(("Workbook", biff(*CELLS, formats=FORMATS)))}, of=OBJECT),
    case("a.vsdx", "drawing of another program", zipped({"[Content_Types].xml": "<Types/>", "visio/document.xml": "<VisioDocument/>"}), said=("it is a document of another program; export it there as PDF",)),
    case("a.kra", "picture of a program that names itself", zipped({"mimetype": "application/x-krita", "maindoc.xml": "<DOC/>"}), said=("it is a document (application/x-krita) of another program",)),
    case("a.doc", "of Word 97, without another program", word_97(WORD_97, "Note with 𝄞 Eider"), "Berth Avocet", "Linked Crake", "Row | Cell", "Non-breaking", "Note with 𝄞 Eider", absent=("HYPERLINK",)),
    case("b.doc", "of Word 97 with a password", word_97(WORD_97, encrypted=True), said=("encrypted with a password",)),
    rtf("groups that only Word reads", WORD_GROUPS + " Plain Serin", "Linked Siskin", "Plain Serin", absent=("evil", "Dips")),
    rtf("star that begins no group", r"{\loch\f0\i0\*\cs7\cf0 Hidden by a star Pipit}", "Hidden by a star Pipit"),
    rtf("pictures and hardly a word", r"Fig. {\pict\jpegblip " + b"\xff\xd8\xff\xe0\0\x10JFIF\0".hex() + "}", "Fig.", said=("picture 1.jpg inside it was not read",)),
    case("b.rtf", "more bytes after its end", rb"{\rtf1\ansi Whole Dunnock\par}" + b"\0\1garbage", "Whole Dunnock", absent=("garbage",)),
    case("c.rtf", "cut off", rb"{\rtf1\ansi First Linnet\par {\b Second Tw", "First Linnet", said=("it is cut off",)),
    word("words that were moved", "<w:p><w:r><w:t>Kept Curlew</w:t></w:r><w:moveFrom><w:r><w:t>Whimbreling</w:t></w:r></w:moveFrom><w:r><w:t> here</w:t></w:r></w:p>", "Kept Curlew here", absent=("Whimbreling",)),
    case("a.odp", "words of the master and of its foot", opendocument("presentation", "<presentation:footer-decl presentation:name='f'>Declared Scaup</presentation:footer-decl><draw:page><draw:frame><draw:text-box><text:p>Slide Smew</text:p></draw:text-box></draw:frame></draw:page>", {"styles.xml": MASTER}), "Slide Smew", "Declared Scaup", "Foot Pintail", absent=("Click to edit", "<number>")),
    case("a.fodt", "picture, comment and note", FLAT % "text><text:p>Flat Merlin<text:note><text:note-body><text:p>Note Hobby</text:p></text:note-body></text:note></text:p><text:p><draw:frame><draw:image><office:binary-data>iVBORw0KGgoAAAANSUhEUg</office:binary-data></draw:image></draw:frame></text:p></office:text>", "Flat Merlin", "Note Hobby", absent=("iVBORw0KGgo",)),
)  # fmt: skip
