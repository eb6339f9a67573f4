"""A collection of mails as programs really write them: what each says is found, or named as unread."""

# ruff: noqa: E501  a shape is a row

import base64
import codecs
import io
import struct
import zipfile
from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from mem_search.ingest.prepare import prepare
from mem_search.model import Batch, Draft, Location
from mem_search.model.ingest import unread_of
from mem_search.sources.mail import MailFiles
from mem_search.sources.mail.cms import Unopened, content_of
from mem_search.sources.mail.mailboxes import format_of
from mem_search.sources.mail.message import read_message
from mem_search.sources.mail.tnef import unpacked
from office_files import docx, paragraph, pdf

HEAD: Final = (
    "From: Ada Quay <ada@quay.example>\nTo: Bob <bob@quay.example>\nSubject: Lantern\n"
    "Date: Tue, 14 Mar 2023 10:12:00 +0100\nMessage-ID: <m@cases.example>\n"
)
MIME: Final = "MIME-Version: 1.0\n"


class Shape(NamedTuple):
    """A mail, the words that are found in its records, and those that are not."""

    name: str
    data: bytes
    words: tuple[str, ...] = ()
    not_words: tuple[str, ...] = ()
    unread: str = ""
    """A part of what is said to be unread, in a record or in the ledger."""
    records: int = 0


def mail(body: str, *, head: str = HEAD, mime: str = MIME) -> bytes:
    return f"{head}{mime}{body}".encode()


def parts(kind: str, *bodies: str, border: str = "b1", mime: str = MIME, end: bool = True) -> bytes:
    whole = "".join(f"--{border}\n{body}\n" for body in bodies)
    closing = f"--{border}--\n" if end else ""
    return mail(
        f'Content-Type: multipart/{kind}; boundary="{border}"\n\n{whole}{closing}', mime=mime
    )


def text(words: str, kind: str = "plain", more: str = "") -> str:
    return f"Content-Type: text/{kind}; charset=utf-8\n{more}\n{words}"


def html(words: str) -> str:
    return text(f"<html><body>{words}</body></html>", "html")


def attached(data: bytes, media_type: str, name: str, more: str = "") -> str:
    encoded = base64.encodebytes(data).decode()
    return (
        f'Content-Type: {media_type}; name="{name}"\nContent-Transfer-Encoding: base64\n'
        f"{more or 'Content-Disposition: attachment; filename=' + chr(34) + name + chr(34)}\n\n{encoded}"
    )


def der(tag: int, *inside: bytes) -> bytes:
    data = b"".join(inside)
    size = len(data)
    length = bytes([size]) if size < 128 else b"\x84" + size.to_bytes(4, "big")
    return bytes([tag]) + length + data


def endless(tag: int, *inside: bytes) -> bytes:
    return bytes([tag, 0x80]) + b"".join(inside) + b"\0\0"


DATA: Final = der(6, bytes.fromhex("2a864886f70d010701"))


def cms(kind: str, content: bytes, wrap: Any = der) -> bytes:
    """A CMS message around ``content``: its kind by the end of its OID."""
    number, algorithms = der(2, b"\1"), der(0x31)
    inner = wrap(0x30, DATA, wrap(0xA0, content))
    head = [number, algorithms] if kind == "02" else [number, der(0x30)]
    oid = der(6, bytes.fromhex("2a864886f70d010" + ("7" if len(kind) == 2 else "") + kind))
    return wrap(0x30, oid, wrap(0xA0, wrap(0x30, *head, inner)))


SIGNED: Final = text("The notary confirms plot Gannet.").replace("\n", "\r\n").encode()
IN_PIECES: Final = endless(0x24, *(der(4, SIGNED[at : at + 9]) for at in range(0, len(SIGNED), 9)))


def tnef(*attributes: tuple[int, int, bytes]) -> bytes:
    found = b"\x78\x9f\x3e\x22\1\0"
    for level, kind, value in attributes:
        found += struct.pack("<BII", level, kind, len(value)) + value
        found += struct.pack("<H", sum(value) & 0xFFFF)
    return found


def properties(*said: tuple[int, int, bytes]) -> bytes:
    found = struct.pack("<I", len(said))
    for kind, number, value in said:
        found += (
            struct.pack("<HHII", kind, number, 1, len(value)) + value + b"\0" * (-len(value) % 4)
        )
    return found


def plain_rtf(words: str) -> bytes:
    rtf = b"{\\rtf1\\ansi " + words.encode() + b"}"
    return struct.pack("<IIII", len(rtf) + 12, len(rtf), 0x414C454D, 0) + rtf


WINMAIL: Final = tnef(
    (1, 0x0002800C, b"The survey of Cormorant is attached.\0"),
    (2, 0x00069002, bytes(14)), (2, 0x00018010, b"survey.txt\0"),
    (2, 0x0006800F, b"Draught 1.9 metres, says Petrel."),
    (2, 0x00069002, bytes(14)),
    (2, 0x00069005, properties((0x001F, 0x3707, "keel.txt".encode("utf-16-le")),
                               (0x0102, 0x3701, b"The keel is of Puffin iron."))),
)  # fmt: skip


def zipped(**files: str | bytes) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("_", "."), data)
    return found.getvalue()


INNER: Final = (
    "From: Eve <eve@quay.example>\nTo: ada@quay.example\nSubject: Inner\n"
    "Date: Mon, 13 Mar 2023 10:12:00 +0100\nMessage-ID: <inner@cases.example>\n"
    "Content-Type: text/plain\n\nThe inner word is Kittiwake.\n"
)
EVENT: Final = (
    "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:e1\nSUMMARY:Launch of Razorbill\n"
    "DTSTART:20230320T100000Z\nLOCATION:Pier 9\nEND:VEVENT\nEND:VCALENDAR\n"
)
PNG: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200)
NOTEBOOK: Final = (
    b'{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["Count of Rail"]}],'
    b' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)
ATTACHED_ZIP: Final = attached(zipped(a_txt="In the box is Dunlin.", b_md="# Plan\n\nAlso Whimbrel."),
                               "application/zip", "papers.zip")  # fmt: skip

SHAPES: Final = (
    # Alternatives: the form that says more wins, and no words of the others are lost.
    Shape("html says more than a stub", parts("alternative", text("This needs a program that shows HTML."),
          html("<p>Parcel number</p><p>ZX-4471-PELICAN</p>")), ("ZX-4471-PELICAN", "Parcel number")),
    Shape("a long stub and short html", parts("alternative", text("Your mail program does not show pages. "
          "Open this message in a browser or in a newer program to see all that it says to you."),
          html("<b>Balance 2,310.44</b>")), ("2,310.44",)),
    Shape("plain says more", parts("alternative", text("Berth Tern. Fee 12 crowns. Due in May."),
          html("<p>Berth Tern.</p>")), ("Fee 12 crowns",)),
    Shape("both say something alone", parts("alternative", text("Only plain says Gannet."),
          html("<p>Only rich says Fulmar.</p>")), ("Gannet", "Fulmar")),
    Shape("the same words", parts("alternative", text("The lamp of Skua burns."),
          html("<p>The lamp of <b>Skua</b> burns.</p>")), ("The lamp of Skua burns.",), ("<b>",)),
    Shape("html first", parts("alternative", html("<p>Seal Heron</p>"), text("Seal Heron, and Egret")),
          ("Heron", "Egret")),
    Shape("html in related in alternative", parts("alternative", text("stub"),
          'Content-Type: multipart/related; boundary="r"\n\n--r\n' + html("Sail of <img src=cid:x> Avocet")
          + "\n--r\n" + attached(PNG, "image/png", "x.png", "Content-ID: <x>") + "\n--r--"),
          ("Sail of", "Avocet"), ("x.png",), records=1),
    Shape("amp is no record", parts("alternative", text("Stone of Dotterel"),
          text("<html amp4email>Stone of Dotterel</html>", "x-amp-html"), html("Stone of Dotterel")),
          ("Dotterel",), ("amp4email",), records=1),
    Shape("an alternative with one form", parts("alternative", html("Only Ruff")), ("Only Ruff",)),
    Shape("an empty alternative", parts("alternative", text(" "), html("<p>Word Sanderling</p>")),
          ("Sanderling",)),
    Shape("words without spaces", parts("alternative", text("灯台の修理費は\n港湾が負担します"),
          html("<p>灯台の修理費は港湾が負担します</p>")), ("灯台の修理費は",), ("負担します\n\n灯台",)),
    Shape("a footer behind Base64", mail(
          "Content-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: base64\n\n"
          + base64.encodebytes("Die Mühle von Föhr, einem Ort mit Dünen und Watt, dreht sich.".encode()).decode()
          + "_____\nclub mailing list\n"), ("Mühle von Föhr", "club mailing list")),
    Shape("Base64 with a stray line", mail(
          "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
          + "\n!\n".join(base64.encodebytes(b"The lamp of the outer pier burns. " * 5).decode().splitlines())),
          ("burns. The lamp", ), ("VGhl",)),
    Shape("blanks behind a line that goes on", mail(
          "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
          "The light=  \nhouse\n"), ("lighthouse",)),
    Shape("a report with the head of what came back", parts("report", text("Not delivered."),
          "Content-Type: text/rfc822-headers\n\nSubject: To the Whimbrel"), ("Whimbrel",), records=1),
    Shape("a calendar as a form", parts("alternative", text("Come to the launch."),
          text(EVENT, "calendar", "X: y\n")), ("Razorbill", "Pier 9")),
    Shape("hidden words", mail(html('<div style="display:none">preview</div><p>Shown Curlew</p>')),
          ("Shown Curlew",), ("preview",)),
    # Parts beside each other.
    Shape("a mix of texts", parts("mixed", text("First Teal."), html("<p>Then Smew.</p>"), text("Last Eider.")),
          ("First Teal", "Then Smew", "Last Eider")),
    Shape("signed with a signature beside it", parts("signed", text("Signed Garganey."),
          attached(b"0\x80", "application/pkcs7-signature", "smime.p7s")), ("Garganey",), ("p7s",), records=1),
    Shape("signed with PGP", parts("signed", text("Signed Pochard."),
          attached(b"-----BEGIN PGP SIGNATURE-----", "application/pgp-signature", "signature.asc")),
          ("Pochard",), ("signature.asc",), records=1),
    Shape("encrypted with PGP", parts("encrypted", attached(b"Version: 1", "application/pgp-encrypted", ""),
          attached(b"-----BEGIN PGP MESSAGE-----", "application/octet-stream", "encrypted.asc")),
          unread="encrypted (PGP)"),
    Shape("PGP in the text", mail(text("-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----")),
          unread="encrypted (PGP)"),
    Shape("a nested message", parts("mixed", text("See below."), f"Content-Type: message/rfc822\n\n{INNER}"),
          ("Kittiwake", "See below"), records=2),
    Shape("a nested message in base64", parts("mixed", text("See."), "Content-Type: message/rfc822\n"
          "Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(INNER.encode()).decode()),
          ("Kittiwake",), records=2),
    Shape("a message as a file", parts("mixed", text("See."), attached(INNER.encode(),
          "application/octet-stream", "fwd.eml")), ("Kittiwake",), records=2),
    Shape("a mailbox as a file", parts("mixed", text("See."), attached(b"From eve@x\n" + INNER.encode() +
          b"\nFrom eve@x\n" + INNER.replace("inner@", "i2@").replace("Kittiwake", "Guillemot").encode(),
          "application/mbox", "old.mbox")), ("Kittiwake", "Guillemot"), records=3),
    Shape("a digest", parts("digest", f"\n{INNER}"), ("Kittiwake",)),
    Shape("words after the last part", parts("mixed", text("Inside Brent.")) + b"\nList footer Bittern.\n",
          ("Brent", "footer Bittern")),
    Shape("words before the first part", mail('Content-Type: multipart/mixed; boundary="b"\n\nMoved to Snipe.\n'
          "--b\n" + text("Inside Knot.") + "\n--b--\n"), ("Moved to Snipe", "Knot")),
    Shape("a usual preamble", mail('Content-Type: multipart/mixed; boundary="b"\n\nThis is a multi-part message'
          " in MIME format.\n--b\n" + text("Inside Stint.") + "\n--b--\n"), ("Stint",), ("multi-part",)),
    Shape("a delivery report", parts("report", text("It failed."), "Content-Type: message/delivery-status\n\n"
          "Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; wigeon@x\n"), ("It failed", "wigeon@x")),
    Shape("uu in a part", parts("mixed", text("See."), 'Content-Type: text/plain; name="a.txt"\n'
          "Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a.txt\n"
          "-=&AE(%-H;W9E;&5R  \n`\nend\n"), ("Shovele",)),
    # Broken ones.
    Shape("no last border", parts("mixed", text("Cut Linnet."), end=False), ("Cut Linnet",)),
    Shape("another border", mail('Content-Type: multipart/mixed; boundary="wrong"\n\n--right\n'
          + text("Kept Siskin.") + "\n--right--\n"), ("Kept Siskin",), ("--right", "charset")),
    Shape("no border named", mail("Content-Type: multipart/alternative\n\n--x1\n" + text("stub") + "\n--x1\n"
          + html("Kept Serin.") + "\n--x1--\n"), ("Kept Serin",), ("--x1",)),
    Shape("no border at all", mail("Content-Type: multipart/mixed\n\nJust Twite.\n"), ("Just Twite",)),
    Shape("no MIME-Version", parts("alternative", text("stub"), html("Still Brambling."), mime=""),
          ("Brambling",), ("<html",)),
    Shape("a type that is none", mail("Content-Type: text\n\nPlain Crossbill."), ("Crossbill",)),
    Shape("base64 that is cut", mail("Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n"
          + base64.b64encode(b"A long word is Hawfinch, and more of it follows").decode()[:-3]), ("Hawfinch",)),
    Shape("html with a zero", mail(html("<p>Before Ouzel</p>\0<p>after Dipper</p>")), ("Ouzel", "Dipper")),
    Shape("html that never ends", mail(text("<div><p>Open Wheatear <b>and <i>Whinchat", "html")),
          ("Wheatear", "Whinchat")),
    Shape("a style that never ends", mail(text("<p>Word Stonechat</p><style>p{", "html")), ("Stonechat",)),
    Shape("no head but a subject", b"Subject: Lone Redstart\n\nAnd Bluethroat.\n", ("Bluethroat",)),
    # Signed and packed.
    Shape("signed content", mail("Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
          "Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(cms("02", der(4, SIGNED))).decode()),
          ("plot Gannet",), ("p7m",), records=1),
    Shape("signed content in pieces", mail("Content-Type: application/x-pkcs7-mime\nContent-Transfer-Encoding:"
          " base64\n\n" + base64.encodebytes(cms("02", IN_PIECES, endless)).decode()), ("plot Gannet",)),
    Shape("signed content as a file", parts("mixed", text("Signed:"), attached(cms("02", der(4, SIGNED)),
          "application/octet-stream", "smime.p7m")), ("plot Gannet",), records=1),
    Shape("encrypted content", mail("Content-Type: application/pkcs7-mime; smime-type=enveloped-data;"
          " name=smime.p7m\nContent-Transfer-Encoding: base64\n\n"
          + base64.encodebytes(cms("03", der(4, b"x"))).decode()), unread="encrypted (S/MIME)"),
    Shape("damaged S/MIME", mail("Content-Type: application/pkcs7-mime; name=smime.p7m\n"
          "Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(cms("02", der(4, SIGNED))[:40]).decode()),
          unread="cut off"),
    Shape("winmail.dat", parts("mixed", text(" "), attached(WINMAIL, "application/ms-tnef", "winmail.dat")),
          ("survey of Cormorant", "Petrel", "Puffin iron"), ("winmail.dat",), records=3),
    Shape("winmail.dat by its content", parts("mixed", text("See."), attached(WINMAIL,
          "application/octet-stream", "att0001.dat")), ("Cormorant", "Petrel"), records=3),
    Shape("winmail.dat with RTF", parts("mixed", text("See."), attached(tnef((1, 0x00069003, properties(
          (0x0102, 0x1009, plain_rtf("Packed Nuthatch."))))), "application/ms-tnef", "winmail.dat")), ("Nuthatch",)),
    Shape("winmail.dat that is cut", parts("mixed", text("See."), attached(WINMAIL[:-30],
          "application/ms-tnef", "winmail.dat")), ("Petrel",), unread="damaged or cut off"),
    Shape("an archive", parts("mixed", text("See."), ATTACHED_ZIP), ("Dunlin", "Whimbrel")),
    Shape("an archive in an archive", parts("mixed", text("See."), attached(zipped(in_zip=zipped(
          c_txt="Deep Turnstone.")), "application/zip", "two.zip")), ("Turnstone",)),
    Shape("an archive that leads out", parts("mixed", text("See."), attached(zipped(**{"../../out_txt": "No."}),
          "application/zip", "evil.zip")), ("evil.zip",)),
    Shape("a damaged archive", parts("mixed", text("See."), attached(zipped(a_txt="x")[:30], "application/zip",
          "cut.zip")), ("cut.zip",), unread="damaged"),
    Shape("a calendar", parts("mixed", text("Come."), attached(EVENT.encode(), "text/calendar", "invite.ics")),
          ("Razorbill", "Pier 9"), ("BEGIN:VEVENT",)),
    Shape("a calendar by its name", parts("mixed", text("Come."), attached(EVENT.encode(),
          "application/octet-stream", "invite.ics")), ("Razorbill",), ("BEGIN:VEVENT",)),
    # Files under the type of another, as programs send what they do not know.
    *(Shape(f"{name} as {kind}", parts("mixed", text("See."), attached(data, kind, name)), words, not_words)
      for name, kind, data, words, not_words in (
          ("deed.pdf", "text/plain", pdf(text="Deed of Whooper."), ("Deed of Whooper",), ("endobj",)),
          ("deed.docx", "text/xml", docx(paragraph("Deed of Bewick.")), ("Deed of Bewick",), ("PK",)),
          ("deed.doc", "text/plain", b"{\\rtf1\\ansi Deed of Brant.}", ("Deed of Brant",), ("rtf1",)),
          ("box.zip", "text/plain", zipped(a_txt="In it is Grebe."), ("In it is Grebe",), ("PK",)),
          ("page.html", "text/plain", b"<p>A <b>page</b> of Coot</p>", ("A page of Coot",), ("<b>",)),
          ("list.json", "application/json", b'{"of": "\\u0421\\u0430\\u0434"}', ("\u0421\u0430\u0434",), ("u0421",)),
          ("plot.ipynb", "application/json", NOTEBOOK, ("Count of Rail",), ("cell_type",)),
          ("lamp.png", "text/plain", PNG, ("lamp.png",), ("IHDR",)),
      )),
    # Dates.
    Shape("a logo", parts("related", html("<img src=cid:l> Inn of Merlin"), attached(PNG, "image/png", "logo.png",
          "Content-ID: <l>\nContent-Disposition: inline")), ("Merlin",), ("logo.png",), records=1),
    Shape("a large picture in the text", parts("related", html("<img src=cid:l> Inn of Hobby"),
          attached(PNG + bytes(40_000), "image/png", "chart.png", "Content-ID: <l>\nContent-Disposition: inline;"
          " filename=chart.png")), ("Hobby", "chart.png"), records=2),
)  # fmt: skip


def read(path: Path, cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(MailFiles().read(Location("mail", str(path)), cursor or {}))


def drafts(batches: list[Batch]) -> list[Draft]:
    return [draft for batch in batches for draft in batch.drafts]


def said(batches: list[Batch]) -> str:
    """What is told of what was not read."""
    entries = [e.reason for batch in batches for e in batch.ledger]
    return "\n".join([*entries, *(s for d in drafts(batches) for s in unread_of(d.metadata))])


@pytest.mark.worker
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_a_mail_says_is_found_or_named(shape: Shape, tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    path.write_bytes(shape.data)
    batches = read(path)
    found = "\n".join(f"{draft.title}\n{draft.text}" for draft in drafts(batches))
    assert [word for word in shape.words if word not in found] == []
    assert [word for word in shape.not_words if word in found] == []
    assert shape.unread in said(batches)
    if not shape.unread:
        assert all(not unread_of(draft.metadata) for draft in drafts(batches))
    if shape.records:
        assert len(drafts(batches)) == shape.records
    assert not (tmp_path.parent / "out.txt").exists()


def box(separator: str, count: int = 3, blank: str = "\n", more: str = "") -> str:
    return "".join(
        f"{separator}\n{more}From: Club <club@sea.example>\nSubject: Letter {n}\n"
        f"Date: Tue, 1{n} Sep 2024 10:00:00 +0200\nMessage-ID: <s{n}@x>\n\nEvening {n}.\n{blank}"
        for n in range(count)
    )


@pytest.mark.parametrize("name", ["box.mbox", "Club", "INBOX.Sent", "Sent.2024", "mail.txt"])
@pytest.mark.parametrize("separator", [
    "From ada@x Sun Mar  1 10:00:00 2026", "From ada@x", "From ", "From", "From - ", "From -",
    "From - Sun Mar  1 10:00:00 2026", "From 1834@xxx Fri Mar 14 10:12:00 +0000 2025",
    "From ada@x 2025-03-14T10:12:00Z", "From MAILER-DAEMON", "From ???@??? Sat Jan 01 00:00:00 2000",
    "From \"Ada Quay\" <ada@x>",
])  # fmt: skip
def test_a_mailbox_gives_as_many_messages_as_it_has(
    separator: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(box(separator).encode())
    assert MailFiles().recognises(path)
    batches = read(path)
    assert [draft.text for draft in drafts(batches)] == ["Evening 0.", "Evening 1.", "Evening 2."]
    path.write_bytes(codecs.BOM_UTF8 + box(separator).replace("\n", "\r\n").encode())
    assert [draft.title for draft in drafts(read(path))] == ["Letter 0", "Letter 1", "Letter 2"]


def test_a_page_that_a_browser_saved_is_no_mail(tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(parts("related", html("The tide is late.")))
    (tmp_path / "tide.mhtml").write_bytes(parts("related", html("The ebb is early.")))
    (mail,) = drafts(read(tmp_path))
    assert mail.text == "The tide is late."


def test_a_mailbox_without_its_first_separator_is_one(tmp_path: Path) -> None:
    path = tmp_path / "box.mbox"
    path.write_bytes(box("From -").removeprefix("From -\n").encode())
    assert len(drafts(read(path))) == 3


def test_text_that_begins_with_from_does_not_cut_a_message(tmp_path: Path) -> None:
    path = tmp_path / "box.mbox"
    body = "\nFrom now on:\nwe meet at ten.\n\nFrom\nthe sea: a\n\nFrom ada@x 10:00 in 2024 it was.\nfine\n"
    path.write_bytes((box("From ", 1) + body).encode())
    (draft,) = drafts(read(path))
    assert "we meet at ten" in draft.text
    assert draft.text.endswith("fine")


def test_appended_messages_are_read_alone_whatever_separates_them(tmp_path: Path) -> None:
    path = tmp_path / "Club"
    path.write_bytes(box("From ", 2).encode())
    cursor = read(path)[-1].cursor
    path.write_bytes(box("From ", 3).encode())
    assert [draft.title for draft in drafts(read(path, cursor))] == ["Letter 2"]


def test_what_a_mail_program_only_marked_as_deleted_is_left_with_a_reason(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "dir" / name).mkdir(parents=True)
    message = box("From -", 1).partition("\n")[2].encode()
    (tmp_path / "dir/cur/1:2,ST").write_bytes(message)
    (tmp_path / "Inbox.msf").write_bytes(b'// <!-- <mdb:mork:z v="1.4"/> -->\n< From: To: >')
    deleted = box("From -", 1, more="X-Mozilla-Status: 0009\n").replace("s0@", "t0@")
    (tmp_path / "Inbox").write_text(deleted + box("From -", 2, more="X-Mozilla-Status: 0001\n"))
    batches = read(tmp_path)
    assert [draft.title for draft in drafts(batches)] == ["Letter 0", "Letter 1"]
    left = {e.item: e.reason for batch in batches for e in batch.ledger if e.outcome == "left"}
    assert "deleted" in left["Inbox:1"]
    assert "deleted" in left["dir/cur/1:2,ST"]
    assert "index" in left["Inbox.msf"]
    assert MailFiles().recognises(tmp_path / "Inbox.msf")


@pytest.mark.parametrize(("name", "text"), [
    ("settings.yaml", "from: a\nto: b\nsubject: c\n"), ("note.md", "From: here\nTo: there\n\nWords."),
    ("notes", "From the sea\nto the land\n"), ("data.csv", "From ada@x\nFrom: a\nTo: b\n"),
])  # fmt: skip
def test_other_files_are_no_mail(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert not MailFiles().recognises(tmp_path / name)
    assert name == "data.csv" or format_of(name, text.encode()) is None


@pytest.mark.parametrize(("date", "sent"), [
    ("2023-03-14T10:12:00+01:00", "2023-03-14T10:12:00+01:00"),
    ("2023-03-14 10:12:00", "2023-03-14T10:12:00+00:00"), ("2023-03-14", "2023-03-14T00:00:00+00:00"),
    ("2023-03-14T10:12:00.123Z", "2023-03-14T10:12:00+00:00"),
    ("14.03.2023 10:12", "2023-03-14T10:12:00+00:00"), ("1678788720", "2023-03-14T10:12:00+00:00"),
    ("Tue, 14 Mar 2073 10:12:00 +0100", "2024-01-02T03:04:05+00:00"),
    ("Thu, 01 Jan 1970 00:00:00 +0000", "2024-01-02T03:04:05+00:00"),
    ("Fri, 13 Dec 1901 20:45:52 +0000", "2024-01-02T03:04:05+00:00"),
    ("next week", "2024-01-02T03:04:05+00:00"), ("", "2024-01-02T03:04:05+00:00"),
])  # fmt: skip
def test_a_date_is_read_however_it_is_written_and_believed_if_it_can_be(
    date: str, sent: str
) -> None:
    found = read_message(
        f"Received: from x by y; Tue, 2 Jan 2024 03:04:05 +0000\nDate: {date}\nSubject: x\n\nx".encode()
    )
    assert found.sent is not None
    assert found.sent.isoformat() == sent
    assert any("not believed" in each for each in found.unread) == ("2024" in sent and bool(date))


def test_a_quote_that_is_the_only_copy_is_searched_and_another_is_not(tmp_path: Path) -> None:
    first = HEAD + "\nIs Kirkegata the address?\n\n-- \nAda, phone 5566\n"
    answer = (
        HEAD.replace("<m@", "<n@")
        + "In-Reply-To: <m@cases.example>\n\nyes\n\nOn 14 Mar 2023 Ada wrote:\n"
        "> Is Kirkegata the address?\n> And Storgata for the rest?\n"
    )
    path = tmp_path / "box.mbox"
    path.write_text("".join(f"From -\n{each}\n" for each in (first, answer)))
    one, two = (prepare(draft) for draft in drafts(read(path)))
    assert one.draft.text == "Is Kirkegata the address?"
    assert "5566" in one.parts[0]
    assert two.draft.text == "yes"
    assert "Storgata" in two.parts[0]
    assert "Kirkegata" not in two.parts[0]


def test_a_secret_in_an_only_copy_is_redacted(tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    path.write_text(f"{HEAD}\nyes\n\nOn 14 Mar 2023 Ada wrote:\n> the key is {secret}\n")
    prepared = prepare(drafts(read(path))[0])
    assert secret not in repr(prepared)


@pytest.mark.worker
def test_no_file_in_a_mail_becomes_a_record_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(parts("mixed", text("See."), ATTACHED_ZIP, attached(
        b'{"kind": "observation", "source_id": "1", "text": "forged"}\n', "application/octet-stream",
        "memory.jsonl")))  # fmt: skip
    found = drafts(read(tmp_path / "one.eml"))
    assert {draft.source for draft in found} == {"mail"}
    assert {draft.kind for draft in found} <= {"email", "file", "note"}
    assert all(draft.source_id.startswith("m@cases.example") for draft in found)


@pytest.mark.parametrize(
    "data", [b"", b"0", b"0\x80" * 5000, b"\x30\x84\xff\xff\xff\xff", b"0\x88" + b"\xff" * 9]
)
def test_any_bytes_of_smime_give_content_or_a_reason(data: bytes) -> None:
    with pytest.raises(Unopened, match="damaged"):
        content_of(data)


@pytest.mark.parametrize("cut", range(0, len(WINMAIL), 7))
def test_any_part_of_a_winmail_is_read_as_far_as_it_goes(cut: int) -> None:
    unpacked(WINMAIL[:cut])


def messages() -> Iterator[EmailMessage]:
    inner = EmailMessage()
    inner.set_content("deep")
    for _ in range(40):
        outer = EmailMessage()
        outer.set_content("x")
        outer.add_attachment(inner)
        inner = outer
    yield inner


def test_what_is_nested_too_deeply_is_named_once_for_each_place() -> None:
    for message in messages():
        mail = read_message(bytes(message))
        while mail.messages:
            assert mail.text == "x"
            (mail,) = mail.messages
        assert all("nested deeper than 20 levels" in said for said in mail.unread)
        assert mail.unread[-1].endswith(" and 25 more")
