"""The text of bytes, for each charset, language and carrier that has it."""

from __future__ import annotations

import base64
import binascii
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from mem_search.extractors import extract
from mem_search.extractors.refusal import binary_reason
from mem_search.sources.mail.message import read_message
from mem_search.text.charsets import codec_of, decoded, decoded_page

TEXTS = (
    ("German", "Die Gebühren für den Liegeplatz in Köln: 300 €", "cp1252", "windows-1252"),
    ("German in Latin-1", "Schöne Grüße aus dem Büro", "latin-1", "ISO-8859-1"),
    ("German of DOS", "Größe und Öffnung der Tür", "cp850", "cp-850"),
    ("German of old Macs", "Größe und Öffnung der Tür", "mac_roman", "x-mac-roman"),
    ("French", "Votre facture a été payée le 3 août, Hélène", "cp1252", "iso-8859-1"),
    ("Spanish", "El señor Núñez pagó la contribución del año pasado", "latin-1", "latin1"),
    ("Portuguese", "Não há informações sobre a construção", "cp1252", "x-cp1252"),
    ("Swedish", "Förfallodag för fakturan från Göteborg, hälsningar Åsa", "cp1252", "l1"),
    ("Polish", "Proszę o przesłanie umowy najmu łodzi, dziękuję", "cp1250", "windows-1250"),
    ("Polish in Latin-2", "Zażółć gęślą jaźń, dziękuję", "iso8859-2", "iso-8859-2"),
    ("Czech", "Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250", "x-cp1250"),
    ("Hungarian", "A fizetés jövő héten történik, köszönettel Szűcs Ödön", "cp1250", "cp1250"),
    ("Russian", "Счёт на оплату от третьего марта", "cp1251", "windows-1251"),
    ("Russian in KOI8", "Смета на ремонт маяка", "koi8-r", "koi8-r"),
    ("Russian of DOS", "Список товаров на складе: якорь, краска", "cp866", "ibm866"),
    ("Ukrainian", "Надсилаю рахунок за їжу та ремонт", "koi8-u", "koi8-ru"),
    ("Greek", "Τιμολόγιο για την επισκευή του φάρου", "cp1253", "windows-1253"),
    ("Greek of ISO", "Τιμολόγιο για την επισκευή του φάρου", "iso8859-7", "ISO-8859-7"),
    ("Turkish", "Fener onarımı faturası, ödeme günü 5 Mayıs", "cp1254", "iso-8859-9"),
    ("Hebrew", "חשבונית מס קבלה עבור תיקון המגדלור", "cp1255", "windows-1255"),
    ("Hebrew, implicit order", "חשבונית חדשה עבור תיקון", "iso8859-8", "iso-8859-8-i"),
    ("Arabic", "فاتورة صيانة المنارة بمبلغ خمسة آلاف", "cp1256", "windows-1256"),
    ("Arabic of ISO", "فاتورة صيانة المنارة", "iso8859-6", "iso-8859-6-i"),
    ("Lithuanian", "Gerbiamas pone, siunčiu sąskaitą už laivo remontą", "cp1257", "windows-1257"),
    ("Thai", "ใบแจ้งหนี้ค่าซ่อมเรือ", "cp874", "windows-874"),
    ("Thai of TIS", "ใบแจ้งหนี้ค่าซ่อมเรือ", "cp874", "tis-620"),
    ("Japanese", "議事録①：灯台の修理費は㈱港湾が負担します", "cp932", "Shift_JIS"),
    ("Japanese of Windows", "株式㈱東京①、１０～１２時", "cp932", "windows-31j"),
    ("Japanese, other label", "灯台の修理費について", "cp932", "x-sjis"),
    ("Japanese of Unix", "灯台の修理費について", "euc_jp", "x-euc-jp"),
    ("Japanese of mail", "灯台の修理費について", "iso2022_jp", "iso-2022-jp"),
    ("Chinese", "发票号码 12345 灯塔维修费五万元", "gbk", "gbk"),
    ("Chinese beyond its label", "朱镕基的发票", "gbk", "gb2312"),
    ("Chinese of Taiwan", "發票號碼 12345 燈塔維修費五萬元", "big5", "big5"),
    ("Chinese of Hong Kong", "衞生署的發票", "big5hkscs", "big5"),
    ("Chinese in seven bits", "灯塔维修费", "hz", "hz-gb-2312"),
    ("Korean", "등대 수리 비용 청구서 5월", "cp949", "ks_c_5601-1987"),
    ("Korean beyond its label", "쌰 똠방 펲시", "cp949", "euc-kr"),
    ("Any", "Größe, размер, 大小", "utf-8", "UTF8"),
    ("Any in seven bits", "Größe, размер", "utf-7", "unicode-1-1-utf-7"),
)
ALONE = {
    "German", "German in Latin-1", "French", "Spanish", "Portuguese", "Swedish", "Polish",
    "Polish in Latin-2", "Czech", "Hungarian", "Russian", "Russian in KOI8", "Russian of DOS",
    "Ukrainian", "Greek", "Turkish", "Hebrew", "Arabic", "Thai", "Japanese",
    "Japanese of Unix", "Japanese of mail", "Chinese", "Chinese of Taiwan", "Korean", "Any",
}  # fmt: skip
"""Whose charset is found out without a label."""

_HEAD = b"From: a@b.example\nMessage-ID: <1@b.example>\nMIME-Version: 1.0\n"


def _mail_body(data: bytes, label: str, _: Path) -> str:
    body = base64.encodebytes(data)
    kind = f"Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: base64\n\n"
    return read_message(_HEAD + kind.encode() + body).text


def _words_in_base64(data: bytes, label: str, _: Path) -> str:
    word = f"=?{label}?B?{base64.b64encode(data).decode()}?="
    return read_message(_HEAD + f"Subject: {word}\n\nx".encode()).subject


def _words_in_quoted_printable(data: bytes, label: str, _: Path) -> str:
    word = binascii.b2a_qp(data, header=True).replace(b"=\n", b"").replace(b"?", b"=3F").decode()
    return read_message(_HEAD + f"Subject: =?{label}?Q?{word}?=\n\nx".encode()).subject


def _attached(field: bytes, label: str) -> str:
    text = f"--b\nContent-Type: text/plain; charset={label}\n\nx\n--b\n".encode()
    kind = b"Content-Type: multipart/mixed; boundary=b\n\n"
    part = b"Content-Type: application/pdf\nContent-Disposition: attachment; " + field
    mail = read_message(_HEAD + kind + text + part + b"\n\nx\n--b--\n")
    return mail.attachments[0].name


def _name_with_charset(data: bytes, label: str, _: Path) -> str:
    return _attached(f"filename*={label}''{quote(data)}".encode(), "us-ascii")


def _name_in_pieces(data: bytes, label: str, _: Path) -> str:
    half = len(data) // 2
    first, second = quote(data[:half]), quote(data[half:])
    return _attached(f"filename*0*={label}''{first}; filename*1*={second}".encode(), "us-ascii")


def _name_in_words(data: bytes, label: str, _: Path) -> str:
    word = f"=?{label}?B?{base64.b64encode(data).decode()}?="
    return _attached(f'filename="{word}"'.encode(), "us-ascii")


def _page(data: bytes, label: str, folder: Path) -> str:
    file = folder / "page.html"
    head = f'<html><head><meta charset="{label}"><title>x</title></head><body><article><p>'
    file.write_bytes(head.encode() + data + b"</p></article></body></html>")
    return extract(file, file.name).text


def _page_in_a_mail(data: bytes, label: str, _: Path) -> str:
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'
    kind = b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n"
    body = base64.encodebytes(f"<html><head>{meta}</head><body>".encode() + data + b"</body>")
    return read_message(_HEAD + kind + body).text


DECLARED = (
    _mail_body, _words_in_base64, _words_in_quoted_printable, _name_with_charset, _name_in_pieces,
    _name_in_words, _page, _page_in_a_mail,
)  # fmt: skip


@pytest.mark.parametrize("carrier", DECLARED, ids=lambda each: each.__name__.strip("_"))
@pytest.mark.parametrize(("language", "text", "codec", "label"), TEXTS, ids=[t[0] for t in TEXTS])
def test_a_declared_charset_is_read(
    language: str,
    text: str,
    codec: str,
    label: str,
    carrier: Callable[[bytes, str, Path], str],
    tmp_path: Path,
) -> None:
    assert carrier(text.encode(codec), label, tmp_path) == text


def _table(data: bytes, folder: Path) -> str:
    return extract(_written(folder / "table.csv", data), "table.csv").text


def _note(data: bytes, folder: Path) -> str:
    return extract(_written(folder / "note.txt", data), "note.txt").text


def _card(data: bytes, folder: Path) -> str:
    return extract(_written(folder / "card.vcf", data), "card.vcf").text


def _raw_subject(data: bytes, _: Path) -> str:
    return read_message(_HEAD + b"Subject: " + data + b"\n\nx").subject


def _raw_name(data: bytes, _: Path) -> str:
    return _attached(b'filename="' + data + b'"', "us-ascii")


def _raw_body(data: bytes, _: Path) -> str:
    return read_message(_HEAD + b"Content-Type: text/plain\n\n" + data).text


def _mislabelled_body(data: bytes, _: Path) -> str:
    kind = b"Content-Type: text/plain; charset=utf-8\n\n"
    return read_message(_HEAD + kind + data).text


def _written(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file


UNDECLARED = (_table, _note, _card, _raw_subject, _raw_name, _raw_body, _mislabelled_body)


@pytest.mark.parametrize("carrier", UNDECLARED, ids=lambda each: each.__name__.strip("_"))
@pytest.mark.parametrize(
    ("text", "codec"),
    [pytest.param(*each[1:3], id=each[0]) for each in TEXTS if each[0] in ALONE],
)
def test_an_undeclared_charset_is_found_out(
    text: str, codec: str, carrier: Callable[[bytes, Path], str], tmp_path: Path
) -> None:
    assert carrier(text.encode(codec), tmp_path) == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["without a mark", "with a mark"])
@pytest.mark.parametrize("text", ["Größe;Betrag\nTür;12,40", "Счёт на оплату", "灯台 の 修理"])
def test_two_or_four_bytes_a_character_are_read(
    text: str, mark: str, codec: str, tmp_path: Path
) -> None:
    data = (mark + text).encode(codec)
    assert _table(data, tmp_path) == text
    assert not binary_reason(data, ".csv")
    page = _written(
        tmp_path / "page.html", f"{mark}<html><body><p>{text}</p></body></html>".encode(codec)
    )
    assert " ".join(extract(page, page.name).text.split()) == " ".join(text.split())


@pytest.mark.parametrize(
    "data", [b"\0\x01\0\x02" * 20, bytes(range(256)), b"\x7fELF\x02\x01\x01\0" * 9, b"ab\0\0\0\0"]
)
def test_data_with_zeros_is_no_text_of_two_bytes(data: bytes) -> None:
    assert binary_reason(data, ".dat")


def test_single_zeros_do_not_make_a_text_one_of_two_bytes(tmp_path: Path) -> None:
    data = b"id,text\n1,quay\0\n2,lantern\n3,the pier is of oak\n4,so are the boats"
    assert "lantern" in _table(data, tmp_path)


LETTER = "Die Gebühren für den Liegeplatz in Köln steigen. Grüße aus dem Büro"


@pytest.mark.parametrize(
    ("data", "label", "text"),
    [
        (LETTER.encode() + b"\xff", "utf-8", LETTER + "\ufffd"),
        (LETTER.encode().replace(b"\xc3\xbcr", b"\xbcr"), "utf-8", LETTER.replace("ür", "\ufffdr")),
        (LETTER.encode().replace(b"f\xc3\xbcr", b"f\xc3r"), "", LETTER.replace("für", "f\ufffdr")),
        (LETTER.encode() + b"\ncaf\xe9", "", LETTER + "\ncafé"),
        (LETTER.encode() + b"\ncaf\xe9", "utf-8", LETTER + "\ncafé"),
        (LETTER.encode()[:-1] + b"\xc3", "iso-8859-1", LETTER[:-1] + "\ufffd"),
        ("Köl".encode()[:2], "utf-8", "K\ufffd"[:2]),
        ("灯台の修理費について".encode()[:-1], "utf-8", "灯台の修理費につい\ufffd"),
        ("灯台の修理費に".encode("cp932") + b"\x81", "shift_jis", "灯台の修理費に\ufffd"),
        (LETTER.encode(), "us-ascii", LETTER),
        (LETTER.encode(), "koi8-r", LETTER),
        ("Привет мир".encode("cp1251"), "us-ascii", "Привет мир"),
        ("Привет мир".encode("cp1251"), "utf-16", "Привет мир"),
        ("Привет мир".encode("cp1251"), "base64", "Привет мир"),
        ("Größe: 3 Füße".encode("cp1252"), "shift_jis", "Größe: 3 Füße"),
        (b"x" * 300_000 + " Straße Käse".encode("cp1252"), "", "x" * 300_000 + " Straße Käse"),
        (b"\x1b$B\x2d\x21\x45\x74\x1b(B", "iso-2022-jp", "①灯"),
        (b"\xad\xa1\xc5\xf4", "euc-jp", "①灯"),
        ("Empfänger;Währung\nBäckerei;EUR".encode("cp850"), "", "Empfänger;Währung\nBäckerei;EUR"),
        ("Preis 5 € für das Œuvre".encode("iso8859-15"), "", "Preis 5 € für das Œuvre"),
        ("Er sagte „ja“ und „nein“".encode("cp1252"), "", "Er sagte „ja“ und „nein“"),
        (b"", "utf-8", ""),
    ],
)  # fmt: skip
def test_single_bad_bytes_and_wrong_labels_cost_no_other_letter(
    data: bytes, label: str, text: str
) -> None:
    assert decoded(data, label) == text


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("win-1251", "cp1251"), ("windows1250", "cp1250"), ("8859-2", "iso8859-2"),
        ("x-ibm-850", "cp850"), ("DOS-866", "cp866"), ("ISO8859_15", "iso8859-15"),
        ("8859_1", "cp1252"), ("utf_8", "utf-8"), ('"UTF-8"; format=flowed', "utf-8"),
        ("Windows-936", "gb18030"), ("ms932", "cp932"), ("iso-8859-8-I", "iso8859-8"),
    ],
)  # fmt: skip
def test_programs_call_a_charset_by_many_names(label: str, codec: str) -> None:
    assert codec_of(label) == codec


def test_what_other_parts_are_in_decides_where_nothing_is_declared() -> None:
    assert decoded("Смета".encode("koi8-r"), hint="koi8-r") == "Смета"
    assert decoded("Größe".encode(), hint="koi8-r") == "Größe"


@pytest.mark.parametrize(
    ("rtf", "text"),
    [
        (rb"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (b"{\\rtf1\\ansi\\ansicpg1251 " + "Привет".encode("cp1251") + b"}", "Привет"),
        (b"{\\rtf1\\ansi\\ansicpg932 " + "灯台".encode("cp932") + b"}", "灯台"),
        (rb"{\rtf1\mac\ansicpg10000 Gr\'9a\'a7e}", "Größe"),
        (rb"{\rtf1\mac Gr\'9a\'a7e}", "Größe"),
        (rb"{\rtf1\pc Gr\'94\'e1e}", "Größe"),
        (rb"{\rtf1\ansi\ansicpg1252 AB\_5521 Hafen\-geb\'fchr}", "AB\u20115521 Hafen\u00adgebühr"),
    ],
)
def test_rich_text_is_read_in_its_charset(rtf: bytes, text: str, tmp_path: Path) -> None:
    assert extract(_written(tmp_path / "a.rtf", rtf), "a.rtf").text == text


def test_a_book_is_read_in_the_charset_that_its_chapters_declare(tmp_path: Path) -> None:
    chapter = '<?xml version="1.0" encoding="koi8-r"?><html><body><p>Смета</p></body></html>'
    package = (
        '<package xmlns="o"><manifest><item id="c" href="c.xhtml"'
        ' media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine>'
        "</package>"
    )
    container = '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
    file = tmp_path / "a.epub"
    with zipfile.ZipFile(file, "w") as book:
        book.writestr("META-INF/container.xml", container)
        book.writestr("o.opf", package)
        book.writestr("c.xhtml", chapter.encode("koi8-r"))
    assert extract(file, file.name).text == "Смета"


def test_a_hyphen_of_word_that_does_not_break_is_a_hyphen(tmp_path: Path) -> None:
    runs = "<w:t>AB</w:t><w:noBreakHyphen/><w:t>5521</w:t><w:softHyphen/><w:t>KX</w:t>"
    file = tmp_path / "a.docx"
    with zipfile.ZipFile(file, "w") as document:
        text = f"<w:document xmlns:w='w'><w:p><w:r>{runs}</w:r></w:p></w:document>"
        document.writestr("word/document.xml", text)
    assert extract(file, file.name).text == "AB-5521KX"


def test_what_came_with_a_page_goes_before_what_the_page_declares() -> None:
    page = '<meta charset="iso-8859-1"><p>Привет</p>'
    assert decoded_page(page.encode("cp1251"), "windows-1251") == page
    assert decoded_page(page.encode("utf-8")) == page
    assert decoded_page(
        b'<?xml version="1.0" encoding="koi8-r"?>' + "Смета".encode("koi8-r")
    ).endswith("Смета")


@pytest.mark.parametrize(
    "label", ["", "unknown-8bit", "punycode", "rot13", "zip", "no such", "x" * 999, "utf-16"]
)
def test_what_is_no_charset_is_no_codec(label: str) -> None:
    assert codec_of(label) == ""
    assert decoded("Größe".encode(), label) == "Größe"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Name;Größe\rMöwe;Brötchen\rBär;Süß\r", "mac_roman"),
        ("Invoice for the heron lamp, 300 euros\n" * 3, "cp037"),
        ("Die Gebühr für den Kran beträgt 30 Mark.\n" * 3, "cp1140"),
    ],
)
def test_old_macs_and_mainframes_are_known_by_their_signs(text: str, codec: str) -> None:
    assert decoded(text.encode(codec)) == text
