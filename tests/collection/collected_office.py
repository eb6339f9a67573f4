"""Office files: Word, PowerPoint, Excel, OpenDocument, RTF, and their older XML forms."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import struct

from cases import case

from office_files import (
    cells,
    chart,
    diagram,
    docx,
    inline,
    opendocument,
    packed,
    paragraph,
    pdf,
    pptx,
    slide,
    word_part,
    xlsx,
)


def ole(*streams: tuple[str, bytes]) -> bytes:
    """A compound file (MS-CFB) with ``streams`` in its root, each padded to at least 4,096 bytes."""
    size, free, end, fat_mark = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    bodies = [data.ljust(-(-max(len(data), 4096) // size) * size, b"\0") for _, data in streams]
    fat, starts = [fat_mark], []
    directory_at = 1
    names = [("Root Entry", 5, end, 0)]
    directory_sectors = -(-(len(streams) + 1) // 4)
    fat += [*range(directory_at + 1, directory_at + directory_sectors), end]
    for body in bodies:
        starts.append(len(fat))
        count = len(body) // size
        fat += [*range(len(fat) + 1, len(fat) + count), end]
    names += [(name, 2, start, max(len(data), 4096))
              for (name, data), start in zip(streams, starts, strict=True)]  # fmt: skip
    assert len(fat) <= 128
    entries = b""
    for at, (name, kind, start, length) in enumerate(names):
        written = name.encode("utf-16-le")
        right = at + 1 if 0 < at < len(names) - 1 else free
        child = 1 if not at and len(names) > 1 else free
        entries += written.ljust(64, b"\0") + struct.pack(
            "<HBB3I", len(written) + 2, kind, 1, free, right, child
        )
        entries += b"\0" * 36 + struct.pack("<IQ", start, length)
    entries = entries.ljust(directory_sectors * size, b"\0")
    head = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + b"\0" * 16
        + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    )
    head += b"\0" * 6 + struct.pack("<9I", 0, 1, directory_at, 0, 4096, end, 0, end, 0)
    head += struct.pack("<I", 0) + struct.pack("<I", free) * 108
    table = b"".join(struct.pack("<I", each) for each in fat).ljust(size, b"\xff")
    return head + table + entries + b"".join(bodies)


def native(name: str, data: bytes) -> bytes:
    """What the object packager of Windows keeps in ``\\x01Ole10Native``."""
    path = name.encode() + b"\0"
    body = b"\x02\0" + path + b"C:\\" + path + b"\0\0\x03\0" + struct.pack("<I", len(path)) + path
    body += struct.pack("<I", len(data)) + data + b"\0\0"
    return struct.pack("<I", len(body)) + body


def objdata(kind: str, data: bytes) -> str:
    name = kind.encode() + b"\0"
    head = struct.pack("<III", 0x501, 2, len(name)) + name + struct.pack("<II", 0, 0)
    return (head + struct.pack("<I", len(data)) + data).hex()


OBJECT = (("o", "oleObject", "embeddings/oleObject1.bin"),)
PACKAGE = (("o", "package", "embeddings/in.xlsx"),)
IN_PARTS = (("o", "oleObject", "../embeddings/oleObject1.bin"),)
BOOK = xlsx(inline("Sum Godwit"))


def word(shape, body, *found, parts=None, of=(), **more):
    return case("a.docx", shape, docx(body, parts=parts, of=of), *found, **more)


def show(shape, *slides, found=(), parts=None, of=(), **more):
    return case("a.pptx", shape, pptx(*slides, parts=parts, of=of), *found, **more)


def book(shape, rows, *found, **more):
    kept = {name: more.pop(name) for name in ("absent", "said") if name in more}
    return case("a.xlsx", shape, xlsx(rows, **more), *found, **kept)


def run(words, style=""):
    return f"<w:r><w:rPr>{style}</w:rPr><w:t xml:space='preserve'>{words}</w:t></w:r>"


def row(*texts):
    return "<w:tr>" + "".join(f"<w:tc>{each}</w:tc>" for each in texts) + "</w:tr>"


def rtf(shape, body, *found, head=r"\ansi\ansicpg1252", **more):
    return case(
        "a.rtf",
        shape,
        f"{{\\rtf1{head}\\deff0{{\\fonttbl{{\\f0 Arial;}}}}{body}\\par}}".encode("latin-1"),
        *found,
        **more,
    )


def flat(kind, shape, body, *found, **more):
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw")
    )
    inner = {"fodt": "text", "fods": "spreadsheet", "fodp": "presentation"}[kind]
    return case(
        f"a.{kind}",
        shape,
        f'<?xml version="1.0"?><office:document {names} office:mimetype="application/vnd.oasis.opendocument.{inner}">'
        f"<office:body><office:{inner}>{body}</office:{inner}></office:body></office:document>",
        *found,
        **more,
    )


def number(value, shown):
    return f"<table:table-cell office:value='{value}'><text:p>{shown}</text:p></table:table-cell>"


def shape_of(name, words):
    return f"<p:sp><p:nvSpPr><p:cNvPr name='{name}'/></p:nvSpPr><p:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></p:txBody></p:sp>"


def slide_of(*pieces, show=""):
    return f"<p:sld xmlns:p='p' xmlns:a='a' {show}><p:cSld><p:spTree>{''.join(pieces)}</p:spTree></p:cSld></p:sld>"


TABLE_IN = row(
    paragraph("Outer Ruff"),
    f"<w:tbl>{row(paragraph('Inner Snipe'), paragraph('14'))}</w:tbl>{paragraph('')}",
)
STRING = "<row r='{0}'><c r='A{0}' t='s'><v>{1}</v></c></row>"
SPREADSHEET_ML = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Worksheet ss:Name="Konto"><Table><Row><Cell><Data ss:Type="String">Hafengebühr Reiher</Data><Comment><ss:Data>geprüft Krickente</ss:Data></Comment></Cell>
<Cell ss:Index="4"><Data ss:Type="Number">12.5</Data></Cell></Row></Table></Worksheet></Workbook>"""

OFFICE = (
    word("table in a table", f"<w:tbl>{TABLE_IN}</w:tbl>", "Outer Ruff", "Inner Snipe", "14"),
    word("merged cells", "<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>Wide Plover</w:t></w:r></w:p></w:tc></w:tr></w:tbl>", "Wide Plover"),
    word("cells side by side keep apart", f"<w:tbl>{row(paragraph('Berth'), paragraph('Avocet'))}</w:tbl>", "Berth", "Avocet", absent=("BerthAvocet",)),
    word("what was deleted is gone", f"<w:p><w:ins>{run('Kept Teal')}</w:ins><w:del><w:r><w:delText>gone Smew</w:delText></w:r></w:del></w:p>", "Kept Teal", absent=("Smew",)),
    word("moved text stands once", f"<w:p><w:moveFrom>{run('Moved Gull')}</w:moveFrom></w:p><w:p><w:moveTo>{run('Moved Gull')}</w:moveTo></w:p>", "Moved Gull", absent=("Moved Gull\n\nMoved Gull",)),
    word("ruby", "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>", "東京"),
    word("right to left", f"<w:p><w:pPr><w:bidi/></w:pPr>{run('שלום לנמל', '<w:rtl/>')}</w:p>", "שלום לנמל"),
    word("symbol of a font", f"<w:p>{run('Pier ')}<w:r><w:sym w:font='Wingdings' w:char='F0E0'/></w:r>{run(' Knot')}</w:p>", "Pier", "Knot"),
    word("soft hyphen of Word", "<w:p><w:r><w:t>Hafen</w:t><w:softHyphen/><w:t>gebühr</w:t></w:r></w:p>", "Hafengebühr"),
    word("field with its result", f"<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>DATE</w:instrText></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>{run('4 May Dunlin')}</w:p>", "4 May Dunlin", absent=("DATE",)),
    word("simple field", f"<w:p><w:fldSimple w:instr='AUTHOR'>{run('Ada Wigeon')}</w:fldSimple></w:p>", "Ada Wigeon"),
    word("equation", "<w:p><m:oMath xmlns:m='m'><m:r><m:t>E=mc2</m:t></m:r></m:oMath></w:p>", "E=mc2"),
    word("smart tag and custom XML", f"<w:p><w:smartTag><w:customXml>{run('Tagged Brent')}</w:customXml></w:smartTag></w:p>", "Tagged Brent"),
    word("drop-down of a form", f"<w:p>{run('Berth: ')}<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:value='1'/></w:dropDownList></w:sdtPr><w:sdtContent>{run('East Merlin')}</w:sdtContent></w:sdt></w:p>", "Berth: East Merlin"),
    word("text of a drawing", f"<w:p><w:r><w:drawing><wps:txbx xmlns:wps='wps'><w:txbxContent>{paragraph('Drawn Hobby')}</w:txbxContent></wps:txbx></w:drawing></w:r></w:p>", "Drawn Hobby"),
    word("word art of old", "<w:p><w:r><w:pict><v:shape xmlns:v='urn:schemas-microsoft-com:vml'><v:textpath string='Arched Osprey'/></v:shape></w:pict></w:r></w:p>", "Arched Osprey"),
    word("alternative text of a picture", f"<w:p>{run('See.')}<w:r><w:drawing><wp:docPr xmlns:wp='wp' id='1' name='Picture 1' descr='A moored Sloop Petrel'/></w:drawing></w:r></w:p>", "moored Sloop Petrel"),
    word("glossary of parts is no text", paragraph("Body Linnet"), "Body Linnet", parts={"word/glossary/document.xml": word_part("Click to enter text")}, absent=("Click to enter",)),
    word("workbook inside", paragraph("See."), "Sum Godwit", parts={"word/embeddings/in.xlsx": BOOK}, of=PACKAGE),
    word("workbook in an OLE object", paragraph("See."), "Sum Godwit", parts={"word/embeddings/oleObject1.bin": ole(("Package", BOOK))}, of=OBJECT),
    word("PDF in an OLE object", paragraph("See."), "The lamp burns.", parts={"word/embeddings/oleObject1.bin": ole(("CONTENTS", pdf()))}, of=OBJECT),
    word("text file of the packager", paragraph("See."), "Packed Eider", "list.txt", parts={"word/embeddings/oleObject1.bin": ole(("\x01Ole10Native", native("list.txt", b"Packed Eider")))}, of=OBJECT),
    word("object that nobody reads", paragraph("See."), "See.", parts={"word/embeddings/oleObject1.bin": ole(("Equation Native", b"x"))}, of=OBJECT, said=("oleObject1.bin inside it was not read",)),
    show("hidden slide", slide("Open"), slide_of(shape_of("t", "Hidden Smew"), show="show='0'"), found=("Hidden Smew",)),
    show("table with merged cells", slide_of("<p:graphicFrame><a:graphic><a:tbl><a:tr><a:tc gridSpan='2'><a:txBody><a:p><a:r><a:t>Wide Pintail</a:t></a:r></a:p></a:txBody></a:tc><a:tc hMerge='1'/></a:tr></a:tbl></a:graphic></p:graphicFrame>"), found=("Wide Pintail",)),
    show("group in a group", slide_of(f"<p:grpSp><p:grpSp>{shape_of('t', 'Deep Garganey')}</p:grpSp></p:grpSp>"), found=("Deep Garganey",)),
    show("line breaks and fields", slide_of("<p:sp><p:txBody><a:p><a:r><a:t>One</a:t></a:r><a:br/><a:r><a:t>Two Scoter</a:t></a:r><a:fld type='datetime'><a:t>4.5.2024</a:t></a:fld></a:p></p:txBody></p:sp>"), found=("Two Scoter", "4.5.2024"), absent=("OneTwo",)),
    show("workbook in an OLE object", slide("See."), found=("Sum Godwit",), parts={"ppt/embeddings/oleObject1.bin": ole(("Package", BOOK))}, of=IN_PARTS),
    show("alternative text", slide_of("<p:pic><p:nvPicPr><p:cNvPr id='2' name='Picture 1' descr='Harbour with Gannet'/></p:nvPicPr></p:pic>", shape_of("t", "See.")), found=("Harbour with Gannet",)),
    show("notes of the second slide", slide("One"), slide("Two"), found=("Said Fulmar",), parts={"ppt/slides/_rels/slide2.xml.rels": "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='n' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/notesSlide' Target='../notesSlides/notesSlide2.xml'/></Relationships>", "ppt/notesSlides/notesSlide2.xml": slide("Said Fulmar")}),
    book("merged cells", inline("Wide Kestrel"), "Wide Kestrel", after="<mergeCells><mergeCell ref='A1:C1'/></mergeCells>"),
    book("rich text in a cell", STRING.format(1, 0), "Red Kite", texts="<si><r><rPr><b/></rPr><t>Red </t></r><r><t>Kite</t></r></si>"),
    book("spaces around a shared text", STRING.format(1, 0), "Spoonbill", texts="<si><t xml:space='preserve'>  Spoonbill </t></si>"),
    book("very hidden sheet", inline("Secret Bittern"), "Secret Bittern", state="veryHidden"),
    book("date and time of 1904", cells("43903.5", style=0), "2024-03-14 12:00", codes=("yyyy-mm-dd hh:mm",), is_1904=True),
    book("date before the leap year that was none", cells("59", style=0), "1900-02-28", codes=("yyyy-mm-dd",)),
    book("duration of more than a day", cells("1.5", style=0), "36:00", codes=("[h]:mm",)),
    book("negative in brackets", cells("-1234.5", style=0), "(1,234.50)", codes=("#,##0.00_);(#,##0.00)",)),
    book("text format", cells("12", style=0), "Nr. 12", codes=("&quot;Nr. &quot;0",)),
    book("formula of text", "<row r='1'><c r='A1' t='str'><f>B1&amp;C1</f><v>Joined Rail</v></c></row>", "Joined Rail"),
    book("formula without a value", "<row r='1'><c r='A1'><f>SUM(B1:B3)</f></c></row>", "=SUM(B1:B3)", said=("formula without a value in the file",)),
    book("cells without their places", "<row><c t='inlineStr'><is><t>Loose Crake</t></is></c><c><v>7</v></c></row>", "Loose Crake", "7"),
    book("ISO date in a cell", "<row r='1'><c r='A1' t='d'><v>2024-03-14T00:00:00</v></c></row>", "2024-03-14"),
    book("tooltips and lists of a validation", inline("Ebb"), "Ebb", "Choose Jackdaw", after="<dataValidations><dataValidation type='list' promptTitle='Berth' prompt='Choose Jackdaw' sqref='A1'><formula1>&quot;East,West&quot;</formula1></dataValidation></dataValidations>"),
    book("picture of text far away", "<row r='90000'><c r='XFD90000' t='inlineStr'><is><t>Far Corncrake</t></is></c></row>", "Far Corncrake"),
    book("Word document in an OLE object", inline("See."), "The lamp burns.", parts={"xl/embeddings/oleObject1.bin": ole(("Package", docx(paragraph("The lamp burns."))))}, of=IN_PARTS),
    book("chart", inline("See."), "Share: E: 25.6%", parts={"xl/drawings/drawing1.xml": diagram("Drawn Shag"), "xl/drawings/_rels/drawing1.xml.rels": "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'><Relationship Id='c' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart' Target='../charts/chart1.xml'/></Relationships>", "xl/charts/chart1.xml": chart()}, of=(("d", "drawing", "../drawings/drawing1.xml"),)),
    case("a.odt", "tracked changes", opendocument("text", "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone Smew</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p>Kept Teal</text:p>"), "Kept Teal", absent=("Smew",)),
    case("a.odt", "list, spaces and tab", opendocument("text", "<text:list><text:list-item><text:p>First<text:s text:c='3'/>Rook<text:tab/>4<text:line-break/>next</text:p></text:list-item></text:list>"), "First", "Rook", "next", absent=("FirstRook", "4next")),
    case("a.odt", "table in a table", opendocument("text", "<table:table><table:table-row><table:table-cell><table:table><table:table-row><table:table-cell><text:p>Inner Coot</text:p></table:table-cell></table:table-row></table:table></table:table-cell></table:table-row></table:table>"), "Inner Coot"),
    case("a.odt", "ruby", opendocument("text", "<text:p><text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby></text:p>"), "東京"),
    case("a.odt", "text in a frame", opendocument("text", "<text:p>Out<draw:frame><draw:text-box><text:p>Framed Dipper</text:p></draw:text-box></draw:frame></text:p>"), "Framed Dipper"),
    case("a.odt", "document inside", opendocument("text", "<text:p>See.<draw:object xmlns:xlink='x' xlink:href='./Object 1'/></text:p>", {"Object 1/content.xml": "<o xmlns:text='text'><text:p>Inner Whinchat</text:p></o>"}), "Inner Whinchat"),
    case("a.odp", "notes of a slide", opendocument("presentation", "<draw:page><text:p>One</text:p><presentation:notes xmlns:presentation='p'><draw:frame><draw:text-box><text:p>Said Siskin</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"), "Said Siskin"),
    case("a.ods", "hidden sheet", opendocument("spreadsheet", "<table:table table:name='H' table:display='false'><table:table-row>" + number(1, "Hidden Serin") + "</table:table-row></table:table>"), "Hidden Serin"),
    case("a.ods", "covered and repeated cells", opendocument("spreadsheet", "<table:table table:name='H'><table:table-row table:number-rows-repeated='1000000'><table:table-cell table:number-columns-repeated='16000'/></table:table-row><table:table-row>" + number(1, "Low Twite") + "<table:covered-table-cell><text:p>Covered Pipit</text:p></table:covered-table-cell></table:table-row></table:table>"), "Low Twite", "Covered Pipit"),
    flat("fodt", "heading and note", "<text:h>Tides</text:h><text:p>Ebb<text:note><text:note-body><text:p>Foot Curlew</text:p></text:note-body></text:note></text:p>", "Tides", "Ebb", "Foot Curlew"),
    flat("fods", "two sheets", f"<table:table table:name='A'><table:table-row>{number(1, 'East Ruff')}</table:table-row></table:table><table:table table:name='B'><table:table-row>{number(1, 'West Reeve')}</table:table-row></table:table>", "East Ruff", "West Reeve"),
    flat("fodp", "a slide", "<draw:page><draw:frame><draw:text-box><text:p>Flat Scaup</text:p></draw:text-box></draw:frame></draw:page>", "Flat Scaup"),
    rtf("unicode escapes", r"\uc1 \u1055?\u1080?\u1088?\u1089? Dunlin", "Пирс Dunlin"),
    rtf("unicode with two letters in place of it", r"\uc2 \u8364EU 12", "€ 12"),
    rtf("negative unicode", r"\uc0\u-10179\u-8706 Emoji", "Emoji"),
    rtf("Cyrillic of a font", r"{\fonttbl{\f1\fcharset204 Arial;}}\f1\'cf\'e8\'f0\'f1", "Пирс", head=r"\ansi\ansicpg1251"),
    rtf("Macintosh", r"B\'9fro", "Büro", head=r"\mac"),
    rtf("Japanese code page", r"\'93\'8c\'8b\'9e", "東京", head=r"\ansi\ansicpg932"),
    rtf("table", r"\trowd\cellx1000\cellx2000\intbl Berth\cell Avocet\cell\row", "Berth", "Avocet", absent=("BerthAvocet",)),
    rtf("hyphens and dashes", r"AB\_5521 Hafen\-geb\'fchr \endash  \bullet", "Hafen\u00adgebühr"),
    rtf("field with its result", r"{\field{\*\fldinst HYPERLINK https://x.example}{\fldrslt Linked Plover}}", "Linked Plover"),
    rtf("deleted text", r"Kept {\deleted gone Smew} Teal", "Kept", "Teal"),
    rtf("text before binary data", r"Before Shrike {\pict\pngblip 89504e470d0a} after Ouzel", "Before Shrike", "after Ouzel", said=("picture 1.png inside it was not read",)),
    rtf("package inside", r"See {\object\objemb{\*\objclass Package}{\*\objdata " + objdata("Package", native("list.txt", b"Packed Knot")[4:]) + r"}{\result Shown Rail}}", "See", "Shown Rail", "Packed Knot", "list.txt"),
    rtf("workbook inside", r"See {\object\objemb{\*\objdata " + objdata("Excel.Sheet.12", ole(("Package", BOOK))) + r"}}", "See", "Sum Godwit"),
    rtf("object inside", r"See {\object\objemb{\*\objclass Package}{\*\objdata 0105}{\result Shown Wren}}", "See", "Shown Wren", said=("inside it was not read",)),
    case("b.xls", "SpreadsheetML of 2003", SPREADSHEET_ML, "Hafengebühr Reiher", "12.5", "Krickente"),
    case("c.xls", "table of a web page", "<html><meta charset=utf-8><table><tr><td>Gebühr Alk</td><td>4,50</td></tr></table></html>", "Gebühr Alk", "4,50"),
    case("d.xls", "comma separated", "Date;Text\n2023-01-02;Pier fee Sanderling\n", "Sanderling"),
    case("e.doc", "RTF that calls itself .doc", rb"{\rtf1\ansi Called Nightjar\par}", "Called Nightjar"),
    case("f.doc", "web page that calls itself .doc", "<html><body><p>Saved Hoopoe as Word</p></body></html>", "Saved Hoopoe"),
    case("g.doc", "new file with the name of an old one", docx(paragraph("Renamed Roller")), "Renamed Roller"),
    case("h.doc", "Word XML of 2003", '<?xml version="1.0"?><?mso-application progid="Word.Document"?><w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:body><w:p><w:r><w:t>Old Wryneck</w:t></w:r></w:p></w:body></w:wordDocument>', "Old Wryneck"),
    case("i.docx", "encrypted with a password", ole(("EncryptedPackage", b"x" * 5000), ("EncryptionInfo", b"y")), said=("password",)),
    case("j.docx", "cut off", docx(paragraph("Lost"))[:300], said=("damaged or cut off",)),
    case("k.pages", "without a preview", packed({"Index/Document.iwa": b"x", "Metadata/Properties.plist": b""}), said=("PDF",)),
    case("l.key", "with a preview", packed({"Index/Document.iwa": b"x", "QuickLook/Preview.pdf": pdf()}), "The lamp burns."),
    case("m.docx", "numbered main part", packed({"[Content_Types].xml": "<Types/>", "word\\document2.xml": f"<w:document xmlns:w='w'><w:body>{paragraph('Numbered Goldeneye')}</w:body></w:document>"}), "Numbered Goldeneye"),
    case("n.odt", "comment of somebody", opendocument("text", "<text:p>Body <office:annotation><dc:creator>Ada</dc:creator><text:p>Remarked Hobby</text:p></office:annotation></text:p>"), "Remarked Hobby"),
    case("o.docx", "archive that calls itself a document", packed({"n.txt": "Lost"}), said=("but it is a ZIP archive; name it as what it is",)),
    case("p.zip", "document that calls itself an archive", docx(paragraph("Document Jacana")), "Document Jacana", kind="docx", records=1),
)  # fmt: skip
