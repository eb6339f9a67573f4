"""Mails as programs write them, beyond the shapes of tests/sources/test_mail_shapes.py."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from email.header import Header

from cases import Case, case, zipped

from office_files import docx, paragraph, pdf

HEAD = "From: Ada Quay <ada@quay.example>\nTo: Bob <bob@quay.example>\nSubject: Lantern\nDate: Tue, 14 Mar 2023 10:12:00 +0100\nMessage-ID: <m@collected.example>\n"


def mail(shape: str, body: str | bytes, *found: str, head: str = HEAD, **more: object) -> Case:
    given = body if isinstance(body, bytes) else body.encode()
    return case("a.eml", shape, head.encode() + b"MIME-Version: 1.0\n" + given, *found, **more)  # type: ignore[arg-type]


def many(kind: str, *bodies: str, border: str) -> str:
    whole = "".join(f"--{border}\n{body}\n" for body in bodies)
    return f'Content-Type: multipart/{kind}; boundary="{border}"\n\n{whole}--{border}--\n'


def text(words: str, kind: str = "plain", more: str = "", params: str = "") -> str:
    return f"Content-Type: text/{kind}; charset=utf-8{params}\n{more}\n{words}"


def part(data: bytes, media_type: str, said: str) -> str:
    return f"Content-Type: {media_type}\nContent-Transfer-Encoding: base64\n{said}\n\n{base64.encodebytes(data).decode()}"


def forwarded(words: str, number: int, more: str = "") -> str:
    return f"Content-Type: message/rfc822\n\nFrom: c{number}@x\nTo: d@x\nSubject: Forward {number}\nMessage-ID: <f{number}@x>\nMIME-Version: 1.0\n{more or text(words)}"


def uuencoded(name: str, data: bytes) -> str:
    lines = (binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45))
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def yenc(name: str, data: bytes) -> bytes:
    coded = b"".join(
        bytes([61, (c + 106) % 256])
        if (c + 42) % 256 in (0, 10, 13, 61)
        else bytes([(c + 42) % 256])
        for c in data
    )
    return b"=ybegin line=256 size=%d name=%s\r\n%s\r\n=yend size=%d crc32=%08x\r\n" % (
        len(data),
        name.encode(),
        coded,
        len(data),
        zlib.crc32(data),
    )


THREE_DEEP = many(
    "mixed",
    text("Outer Avocet."),
    forwarded(
        "",
        1,
        many(
            "mixed",
            text("First Bittern."),
            forwarded(
                "",
                2,
                many("mixed", text("Second Crake."), forwarded("Third Dunlin.", 3), border="c"),
            ),
            border="b",
        ),
    ),
    border="a",
)
RELATED = many(
    "mixed",
    many(
        "related",
        many(
            "alternative",
            text("Plain Eider."),
            text("<p>Plain Eider. And <b>Fulmar</b> on deck.</p>", "html"),
            border="x",
        ),
        part(b"\x89PNG\r\n\x1a\n", "image/png", "Content-ID: <l>"),
        border="y",
    ),
    part(b"Listed Gadwall", "text/plain; name=list.txt", "Content-Disposition: attachment"),
    border="z",
)
ALTERNATIVE = many(
    "alternative",
    text("short"),
    many(
        "related",
        text("<p>Longer Hobby of the harbour</p>", "html"),
        part(b"\x89PNG\r\n\x1a\n", "image/png", "Content-ID: <l>"),
        border="r",
    ),
    border="q",
)
EVENT = "BEGIN:VCALENDAR\nMETHOD:{}\nBEGIN:VEVENT\nUID:7@x\nSEQUENCE:2\nSUMMARY:Meeting Jackdaw\nDTSTART:20230412T083000Z\nLOCATION:Pier 9\nEND:VEVENT\nEND:VCALENDAR\n"
SPLIT = (
    base64.b64encode("Gebühr".encode()[:4]).decode(),
    base64.b64encode("Gebühr".encode()[4:]).decode(),
)

MAIL: tuple[Case, ...] = (
    mail("messages in messages, three deep", THREE_DEEP, "Outer Avocet", "First Bittern", "Second Crake", "Third Dunlin"),
    mail("alternative in related in mixed", RELATED, "Fulmar", "Listed Gadwall"),
    mail("related in alternative", ALTERNATIVE, "Longer Hobby"),
    mail("invitation that is changed", many("alternative", text("See."), f"Content-Type: text/calendar; method=REQUEST\n\n{EVENT.format('REQUEST')}", border="a"), "Meeting Jackdaw", "Pier 9"),
    mail("invitation that is cancelled", many("mixed", text("See."), f"Content-Type: text/calendar; method=CANCEL; name=c.ics\n\n{EVENT.format('CANCEL')}", border="a"), "Meeting Jackdaw"),
    mail("lines that flow, with delsp", text("The har \nbour of Kes \ntrel opens.\n> quoted \n> Linnet", params="; format=flowed; delsp=yes"), "harbour of Kestrel", "Linnet"),
    mail("quoted-printable with soft breaks", text("The lamp of Mer=\nlin, =E2=82=AC 5 =3D all; bad =ZZ end=", more="Content-Transfer-Encoding: quoted-printable\n"), "lamp of Merlin, € 5 = all"),
    mail("uuencode in the text", text("See:\n\n" + uuencoded("list.txt", b"Uuencoded Nuthatch stands here.") + "\nRegards Osprey"), "Regards Osprey", "Uuencoded Nuthatch", "list.txt", absent=("begin 644",)),
    mail("uuencode of a document", text("See:\n" + uuencoded("plan.docx", docx(paragraph("Drawn Plover")))), "Drawn Plover", "plan.docx"),
    mail("uuencode that is cut", text("See:\n\n" + uuencoded("list.txt", b"Whole line of Quail and forty-five letters...." * 2)[:100]), "See", said=("list.txt",)),
    mail("words that begin with begin", text("begin 644 of the story\nof Redshank\nend\n"), "begin 644 of the story", "Redshank"),
    mail("yEnc in the text", b"Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\nSee:\r\n" + yenc("list.txt", b"Encoded Sanderling") + b"Bye Tern\r\n", "Bye Tern", "Encoded Sanderling", "list.txt"),
    mail("name by RFC 2231 in pieces", many("mixed", text("See."), part(b"x", "application/pdf", "Content-Disposition: attachment; filename*0*=UTF-8''Geb%C3%BChr; filename*1*=%20F%C3%B6hr; filename*2=.txt"), border="a"), "Gebühr Föhr.txt"),
    mail("name by RFC 2047, which is forbidden there", many("mixed", text("See."), part(b"Words Urial", "text/plain; name=\"=?utf-8?Q?M=C3=B6we.txt?=\"", "Content-Disposition: attachment"), border="a"), "Möwe.txt", "Words Urial"),
    mail("name in raw bytes", b'Content-Type: multipart/mixed; boundary="a"\n\n--a\nContent-Type: text/plain\n\nSee.\n--a\nContent-Type: text/plain; name="M\xf6we.txt"\nContent-Disposition: attachment; filename="M\xf6we.txt"\n\nWords Veery\n--a--\n', "Möwe.txt", "Words Veery"),
    mail("attachment without a name", many("mixed", text("See."), part(pdf(), "application/pdf", "Content-Disposition: attachment"), border="a"), "The lamp burns."),
    mail("two attachments of one name", many("mixed", text("See."), part(b"One Wren", "text/plain; name=a.txt", "Content-Disposition: attachment"), part(b"Two Yellowhammer", "text/plain; name=a.txt", "Content-Disposition: attachment"), border="a"), "One Wren", "Two Yellowhammer", records=3),
    mail("document with a wrong type", many("mixed", text("See."), part(docx(paragraph("Typed Avocet")), "application/octet-stream; name=plan.docx", "Content-Disposition: attachment"), border="a"), "Typed Avocet"),
    mail("document without an end of its name", many("mixed", text("See."), part(docx(paragraph("Endless Bittern")), "application/octet-stream; name=plan", "Content-Disposition: attachment"), border="a"), "Endless Bittern"),
    mail("word split in the middle of a character", "\nText Crake", "Gebühr", head=HEAD.replace("Lantern", f"=?utf-8?B?{SPLIT[0]}?= =?utf-8?B?{SPLIT[1]}?=")),
    mail("subject in ISO-2022-JP", "\nText", "灯台の使用料", head=HEAD.replace("Lantern", Header("灯台の使用料", "iso-2022-jp").encode())),
    mail("subject that is folded", "\nText", "Lantern of Dunlin and more", head=HEAD.replace("Lantern", "Lantern of\n\tDunlin\n and more")),
    case("a.eml", "8-bit headers in Windows-1252", b"From: J\xf6rg <j@x>\nSubject: M\xf6we am Pier\nMessage-ID: <8@x>\n\nText Eider\n", "Jörg", "Möwe am Pier"),
    case("a.eml", "8-bit headers in UTF-8", "From: Jörg <j@x>\nSubject: Möwe am Pier\nMessage-ID: <9@x>\n\nText Eider\n", "Jörg", "Möwe am Pier"),
    mail("digest of a list", many("digest", "\nFrom: a@x\nSubject: One\n\nFirst Fulmar\n", "\nFrom: b@x\nSubject: Two\n\nSecond Gadwall\n", border="d"), "First Fulmar", "Second Gadwall"),
    mail("PGP in the text", text("Before Hobby\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----"), "Before Hobby", said=("PGP",)),
    mail("PGP clear signed", text("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nSigned Jackdaw\n-----BEGIN PGP SIGNATURE-----\n\niQEz\n-----END PGP SIGNATURE-----"), "Signed Jackdaw"),
    mail("archive with a password", many("mixed", text("See."), part(b"PK\x03\x04\x14\0\x01\0\0\0\0\0\0\0" + bytes(16), "application/zip; name=a.zip", "Content-Disposition: attachment"), border="a"), "See", said=("a.zip",)),
    mail("archive with a document", many("mixed", text("See."), part(zipped({"in/plan.docx": docx(paragraph("Zipped Kestrel"))}), "application/zip; name=a.zip", "Content-Disposition: attachment"), border="a"), "Zipped Kestrel"),
    mail("contact", many("mixed", text("See."), part(b"BEGIN:VCARD\nVERSION:3.0\nFN:Linnet Quay\nTEL:+49 171 55\nEND:VCARD\n", "text/vcard; name=l.vcf", "Content-Disposition: attachment"), border="a"), "Linnet Quay", "+49 171 55"),
    mail("HTML that hides its preheader", text("<div style='display:none'>Preview Merlin</div><p>Body Nuthatch</p>", "html"), "Body Nuthatch"),
    mail("HTML with fillers behind its first line", text("<div style='max-height:0'>Deck&#847;&zwnj;&nbsp;&#8199;&#65279;&#847; &#8203;</div><p>&zwnj;Teak oil 19.90</p><p>می\u200cخواهم</p>", "html"), "Deck\nTeak oil 19.90", "می\u200cخواهم", absent=("\u034f", "\ufeff", "\u200b")),
    mail("plain text with fillers behind its first line", text("Deck " + "\u034f \u200c\u00a0" * 40 + "\n\nTeak oil"), "Deck\n\nTeak oil", absent=("\u034f", "\u200c")),
    mail("HTML with its charset inside alone", b"Content-Type: text/html\n\n<html><head><meta http-equiv='Content-Type' content='text/html; charset=koi8-r'></head><body>" + "Портовый сбор".encode("koi8-r") + b"</body></html>", "Портовый сбор"),
    mail("picture with a text in HTML", text("<p>See <img src='http://x/a.png' alt='Voucher Osprey 20 %'></p>", "html"), "Voucher Osprey"),
    mail("part that lives elsewhere", many("mixed", text("See."), "Content-Type: message/external-body; access-type=URL; URL=\"https://x.example/plover.pdf\"\n\nContent-Type: application/pdf\n", border="a"), "See", said=("https://x.example/plover.pdf",)),
    mail("enriched text", "Content-Type: text/enriched\n\n<bold>Strong</bold> Quail <<sic>", "Strong", "Quail"),
    case("b.mbox", "lines that begin with From", "From a@x Tue Mar 14 10:12:00 2023\n" + HEAD + "\nFirst Redshank\n\n>From here on Sanderling\n\nFrom b@x Tue Mar 14 10:13:00 2023\n" + HEAD.replace("<m@", "<n@") + "\nSecond Tern\n", "First Redshank", "From here on Sanderling", "Second Tern", records=2),
    case("INBOX.Sent", "deleted and kept by Thunderbird", "From - Tue Mar 14 10:12:00 2023\nX-Mozilla-Status: 0001\n" + HEAD + "\nKept Urial\n\nFrom - Tue Mar 14 10:13:00 2023\nX-Mozilla-Status: 0009\n" + HEAD.replace("<m@", "<n@") + "\nGone Veery\n", "Kept Urial", kind="mbox", said=("deleted",), absent=("Gone Veery",), records=1),
    case("c.emlx", "of Apple Mail", b"%d\n" % len((HEAD + "\nApple Wren\n").encode()) + (HEAD + "\nApple Wren\n").encode() + b"<?xml version='1.0'?><plist version='1.0'><dict><key>flags</key><integer>1</integer></dict></plist>", "Apple Wren"),
    case("d.mbox", "MMDF", "".join(f"\1\1\1\1\n{HEAD.replace('<m@', f'<{each}@')}\n{each} Wigeon\n\1\1\1\1\n" for each in ("First", "Second")), "First Wigeon", "Second Wigeon", records=2),
    case("e.mbox", "ends of lines of old Macs", "".join(f"From a@x Tue Mar 14 10:12:00 2023\n{HEAD.replace('<m@', f'<{each}@')}\n{each} Yaffle\n\n" for each in ("First", "Second")).replace("\n", "\r"), "First Yaffle", "Second Yaffle", records=2),
    Case("maildir", "copied without its empty folders", {"Mail/.Sent/cur/1.a.host:2,S": (HEAD + "\nSent Avocet\n").encode(), "Mail/.Sent/cur/2.a.host;2,ST": (HEAD.replace("<m@", "<n@") + "\nGone Bittern\n").encode()}, ("Sent Avocet",), ("Gone Bittern",), ("deleted",), 1),
    Case("mh", "deleted message", {"inbox/1": (HEAD + "\nKept Crake\n").encode(), "inbox/,2": (HEAD.replace("<m@", "<n@") + "\nGone Dunlin\n").encode()}, ("Kept Crake",), ("Gone Dunlin",), ("deleted",), 1),
    case("winmail.dat", "of Outlook, saved from its mail", b"\x78\x9f\x3e\x22\1\0" + struct.pack("<BII", 1, 0x0002800C, 23) + b"Saved from a mail: Smew\0\0", "Saved from a mail: Smew"),
    mail("archive without a name", "Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(zipped({"n.txt": "Nameless Fulmar"})).decode(), "Nameless Fulmar"),
)  # fmt: skip
