"""Messages of every format as records: words, people, dates, threads, attachments, the ledger."""

import json
import os
import threading
import time
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import SourceError
from mem_search.extractors.extraction import Extraction
from mem_search.extractors.refusal import Refused
from mem_search.model import Batch, Draft, LedgerEntry, Link, Location, Record
from mem_search.model.ingest import Extracted
from mem_search.records.registry import installed_kinds
from mem_search.sources.mail import MailFiles
from mem_search.sources.mail.bodies import html_text, take_apart, unflowed
from mem_search.sources.mail.headers import ids, people, read_words, sent_at
from mem_search.sources.mail.listing import files_at
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES, read_message
from mem_search.text.charsets import decoded
from patience import PATIENCE


def read(path: Path, cursor: Mapping[str, Any] | None = None, upload: str = "") -> list[Batch]:
    return list(MailFiles().read(Location("mail", str(path), upload=upload), cursor or {}))


def drafts(batches: list[Batch]) -> list[Draft]:
    return [draft for batch in batches for draft in batch.drafts]


def ledger(batches: list[Batch]) -> list[LedgerEntry]:
    return [entry for batch in batches for entry in batch.ledger]


def reasons(batches: list[Batch]) -> dict[str, str]:
    return {e.item: e.reason for e in ledger(batches) if e.outcome in ("left", "failed")}


def letter(number: int = 1, text: str = "The lamp burns again.", **more: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ada Quay <ada@example.org>"
    message["To"] = "Bob <bob@example.org>"
    message["Subject"] = f"Lamp {number}"
    message["Date"] = "Sun, 01 Mar 2026 10:00:00 +0100"
    message["Message-ID"] = f"<{number}@harbour>"
    for name, value in more.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def boxed(*messages: EmailMessage) -> bytes:
    head = b"From ada@example.org Sun Mar  1 10:00:00 2026\n"
    return b"".join(head + bytes(message) + b"\n" for message in messages)


def one(tmp_path: Path, data: bytes | EmailMessage) -> list[Draft]:
    path = tmp_path / "one.eml"
    path.write_bytes(bytes(data))
    return drafts(read(path))


def test_a_message_is_an_email_with_its_people_its_time_and_its_thread(tmp_path: Path) -> None:
    sent = letter(3, Cc="Eve <eve@example.org>", In_Reply_To="<2@harbour>")
    sent["References"] = "<1@harbour> <2@harbour>"
    (draft,) = one(tmp_path, sent)
    assert len(str(draft.metadata["content_id"])) == 16
    assert draft == Draft(
        kind="email",
        source="mail",
        source_id="3@harbour",
        title="Lamp 3",
        text="The lamp burns again.",
        created_at=1_772_355_600_000,
        session="1@harbour",
        metadata={
            "content_id": draft.metadata["content_id"],
            "from": ["Ada Quay <ada@example.org>"],
            "to": ["Bob <bob@example.org>"],
            "cc": ["Eve <eve@example.org>"],
            "date": "2026-03-01T10:00:00+01:00",
            "message_id": "3@harbour",
            "in_reply_to": "2@harbour",
            "thread_id": "1@harbour",
        },
        links=(Link("2@harbour", "replies_to"),),
    )
    kind = installed_kinds().require("email")
    assert ("from", "ada@example.org") in kind.facets(kind.compose(draft))


def test_a_message_without_id_has_the_same_one_in_every_file(tmp_path: Path) -> None:
    sent = letter()
    del sent["Message-ID"]
    (tmp_path / "box.mbox").write_bytes(boxed(sent))
    (alone,) = one(tmp_path, sent)
    (box,) = drafts(read(tmp_path / "box.mbox"))
    assert alone.source_id == box.source_id
    assert alone.source_id.startswith("sha256:")


@pytest.mark.worker
def test_attachments_are_files_that_the_message_links_to(tmp_path: Path) -> None:
    sent = letter()
    sent.add_attachment("lamp oil;5", subtype="csv", filename="käufe.csv")
    sent.add_attachment(b"%PDF-1", "application", "pdf", filename="C:\\scans\\lease.pdf")
    mail, table, lease = one(tmp_path, sent)
    assert mail.metadata["attachments"] == ["käufe.csv", "lease.pdf"]
    assert [link.to for link in mail.links] == [table.source_id, lease.source_id]
    assert {link.relation for link in mail.links} == {"attachment"}
    assert (table.kind, table.title, table.text.strip()) == ("file", "käufe.csv", "lamp oil;5")
    assert (lease.metadata["media_type"], lease.metadata["size"]) == ("application/pdf", 6)
    assert "Lamp 1" in lease.text


@pytest.mark.worker
def test_attached_documents_are_read_and_what_is_not_is_named(tmp_path: Path) -> None:
    sent = letter(text="See the report and the plan.")
    sent.add_attachment(
        rb"{\rtf1\ansi The lamp needs oil.}", "application", "rtf", filename="report.rtf"
    )
    sent.add_attachment(b"PK\x03\x04broken", "application", "zip", filename="plan.docx")
    (tmp_path / "one.eml").write_bytes(bytes(sent))
    batches = read(tmp_path / "one.eml")
    _, report, plan = drafts(batches)
    assert (report.title, report.text.strip()) == ("report.rtf", "The lamp needs oil.")
    assert "plan.docx" in plan.text
    assert reasons(batches) == {
        "one.eml:plan.docx": "it is not a Word document: it is damaged or cut off"
    }


def report(number: int) -> EmailMessage:
    """A message with a document that only a reader of its format can read."""
    sent = letter(number)
    text = rb"{\rtf1\ansi Report " + str(number).encode() + b".}"
    sent.add_attachment(text, "application", "rtf", filename="report.rtf")
    return sent


def test_attachments_of_several_messages_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, original = threading.Barrier(2), Extraction.read

    def read_beside_another(self: Extraction, *file: Any, **values: Any) -> Extracted | Refused:
        both.wait(PATIENCE)  # it breaks where one attachment is read after the other
        return original(self, *file, **values)

    monkeypatch.setattr("mem_search.extractors.extraction._at_once", lambda: 2)
    monkeypatch.setattr(Extraction, "read", read_beside_another)
    for number in range(4):
        (tmp_path / f"{number}.eml").write_bytes(bytes(report(number)))
    found = [draft.text.strip() for draft in drafts(read(tmp_path))]
    assert found[1::2] == [f"Report {number}." for number in range(4)]


@pytest.mark.worker
@pytest.mark.parametrize("form", ["mbox", "files"])
def test_a_reading_that_ends_after_any_message_goes_on_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("mem_search.sources.base.BATCH_SIZE", 1)
    folder = tmp_path / "mail"
    folder.mkdir()
    sent = [report(number) for number in range(5)]
    if form == "mbox":
        (folder / "a.mbox").write_bytes(boxed(*sent[:3]))
        (folder / "b.mbox").write_bytes(boxed(*sent[3:]))
    else:
        for number, message in enumerate(sent):
            (folder / f"{number}.eml").write_bytes(bytes(message))
    cursor: Mapping[str, Any] = {}
    found: list[Batch] = []
    while (
        batch := next(MailFiles().read(Location("mail", str(folder)), cursor), None)
    ) is not None:
        found.append(batch)
        cursor = batch.cursor
    assert len(found) >= 5
    whole = read(folder)
    assert drafts(found) == drafts(whole)
    assert len(drafts(found)) == 10
    assert sum(entry.records for entry in ledger(found)) == 10


def test_a_picture_in_the_text_is_not_read(tmp_path: Path) -> None:
    sent = letter()
    sent.set_content("<p>Regards</p>", subtype="html")
    sent.add_related(b"\x89PNG\r\n\x1a\n", "image", "png", cid="<logo>", filename="logo.png",
                     disposition="inline")  # fmt: skip
    (tmp_path / "one.eml").write_bytes(bytes(sent))
    assert reasons(read(tmp_path / "one.eml")) == {}


def test_a_message_inside_a_message_is_a_record_of_its_own(tmp_path: Path) -> None:
    outer = letter(2, "See below.")
    outer.add_attachment(letter(1))
    mail, inner = one(tmp_path, outer)
    assert (inner.source_id, inner.text.strip()) == ("1@harbour", "The lamp burns again.")
    assert Link("1@harbour", "attachment") in mail.links
    assert inner == one(tmp_path, letter(1))[0]  # the same record wherever it lies


def test_the_form_that_says_more_is_read_with_what_the_other_says_alone(tmp_path: Path) -> None:
    both = letter(text="The plain words.")
    both.add_alternative("<p>The <b>rich</b> words.</p>", subtype="html")
    assert one(tmp_path, both)[0].text == "The plain words.\n\nThe rich words."
    rich = letter()
    rich.set_content("<style>p{}</style><p>The <b>rich</b>&nbsp;words.</p>", subtype="html")
    assert one(tmp_path, rich)[0].text == "The rich words."


@pytest.mark.worker
def test_an_appointment_is_text_and_metadata_and_a_record_of_its_own(tmp_path: Path) -> None:
    sent = letter(text="Come.")
    sent.add_attachment(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Lamp\\, lit\nDTSTART;TZID=X:20260301T\n 100000\n"
        "LOCATION:Pier 9\nEND:VEVENT\nEND:VCALENDAR\n",
        subtype="calendar",
    )
    draft, event = one(tmp_path, sent)
    assert event.title == "Lamp, lit"
    assert Link(event.source_id, "attachment") in draft.links
    assert draft.text.endswith("Event: Lamp, lit\nWhen: 2026-03-01 10:00\nWhere: Pier 9")
    assert (draft.metadata["event_name"], draft.metadata["location"]) == ("Lamp, lit", "Pier 9")


def test_quotes_and_the_signature_are_kept_but_are_no_text(tmp_path: Path) -> None:
    (draft,) = one(
        tmp_path,
        letter(text="Agreed.\n\nOn Sun, 1 Mar 2026, Bob wrote:\n> Shall we?\n\n-- \nAda, Quay 1\n"),
    )
    assert draft.text == "Agreed."
    assert "> Shall we?" in draft.metadata["quoted"]
    assert draft.metadata["signature"] == "--\nAda, Quay 1"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Yes.\n\n-----Original Message-----\nFrom: Bob\nShall we?", "Yes."),
        ("Ja.\n\nVon: Bob\nGesendet: Montag\nAn: Ada\nBetreff: Lampe\n\nSollen wir?", "Ja."),
        ("Yes.\n\nOn Mon, 2 Mar 2026 at 9:00, Bob\n<b@x.org> wrote:\n\n> Shall we?", "Yes."),
        ("> One?\nYes.\n> Two?\nNo.", "Yes.\nNo."),
        ("Sim.\n\nEm 1/3/2026, Bob escreveu:\n> Vamos?", "Sim."),
        ("Ja.\n\nOp 1 mrt 2026 schreef Bob:\n> Zullen we?\n\nVerstuurd vanaf mijn lamp", "Ja."),
        ("好。\n\nBob 于2026年3月1日写道：\n> 好吗？\n\n发自我的手机", "好。"),
        ("Yes.\n\nSent from my lamp", "Yes."),
        ("From: Bob\nSent: Monday\nTo: Ada\nSubject: Lamp", None),
        ("FYI\n---------- Forwarded message ---------\nFrom: Bob\nDate: 1\nTo: A\nWords", None),
        ("> only a quote", None),
        ("Take these: \n- a lamp", None),
    ],
)
def test_a_reply_is_told_from_what_it_quotes(text: str, own: str | None) -> None:
    assert take_apart(text).own == (text if own is None else own).replace(": \n", ":\n")


def test_an_answer_between_quotes_keeps_the_whole_text_in_its_order(tmp_path: Path) -> None:
    kind = installed_kinds().require("email")

    def stored(text: str) -> Record:
        (draft,) = one(tmp_path, letter(text=text))
        draft = kind.compose(draft)
        return Record(1, "email", "mail", draft.source_id, draft.title, draft.text, 0, 0,
                      metadata=draft.metadata)  # fmt: skip

    between = stored("> One?\nYes.\n> Two?\nNo.\n\n-- \nAda\n")
    assert between.text == "Yes.\nNo."
    assert kind.whole_text(between) == "> One?\nYes.\n> Two?\nNo.\n\n--\nAda"
    assert "One" not in "".join(text for label, text in kind.detail(between) if label != "Quoted")
    above = stored("Yes.\n\n-- \nAda\n\nOn Sun, 1 Mar 2026, Bob wrote:\n> One?\n")
    assert "whole_text" not in above.metadata
    assert above.text == "Yes."
    assert kind.whole_text(above) == "Yes.\n\n--\nAda\n\nOn Sun, 1 Mar 2026, Bob wrote:\n> One?"
    plain = stored("Yes.")
    assert kind.whole_text(plain) == plain.text == "Yes."


def test_html_is_read_as_a_reader_sees_it() -> None:
    html = (
        "<html><head><title>x</title></head><body><div style='display: none'>hidden</div>"
        "<p>One<br>two</p><ul><li>three</li></ul><pre>a  b\n c</pre>"
        "<blockquote>old</blockquote><img alt='a lamp'><script>no</script></body></html>"
    )
    assert html_text(html) == "One\ntwo\n\n- three\na  b\n c\n> old\n\na lamp"


def test_flowed_lines_are_one_paragraph() -> None:
    assert unflowed("one \ntwo\n>q \n>r\n-- \nme") == "one two\n> q r\n-- \nme"
    assert unflowed("to \nday", delete_space=True) == "today"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("=?utf-8?q?The_pier_=E2=80=94?= longer", "The pier — longer"),
        ("=?utf-8?b?w6Q=?= =?utf-8?b?w7Y=?=", "äö"),
        ("=?utf-8?b?4oI=?=\n =?utf-8?b?rA==?=", "€"),
        ("Re: =?x-unknown?q?caf=E9?=!", "Re: café!"),
        ("=?utf-8?x?no?= =?broken", "=?utf-8?x?no?= =?broken"),
        ("caf\udcc3\udca9", "café"),
    ],
)
def test_words_of_headers_are_decoded(header: str, words: str) -> None:
    assert read_words(header) == words


def test_people_dates_and_ids_are_read_as_far_as_they_go() -> None:
    assert people(['"Quay, Ada" <a@x.org>, b@x.org', "=?utf-8?q?=C3=84da?= <c@x.org>"]) == [
        '"Quay, Ada" <a@x.org>',
        "b@x.org",
        "Äda <c@x.org>",
    ]
    assert people(["(" * 5000]) is not None
    assert ids("<a@x> <b@x>\n <a@x>") == ["a@x", "b@x"]
    assert ids("a@x") == ["a@x"]
    assert sent_at("yesterday") is None
    assert str(sent_at("Sun, 01 Mar 2026 10:00:00 -0000")) == "2026-03-01 10:00:00+00:00"


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        (b"\x93x\x94", "iso-8859-1", "“x”"),
        ("é".encode(), "us-ascii", "é"),
        ("漢".encode("gb18030"), "gb2312", "漢"),
        (b"xn--e9", "punycode", "xn--e9"),
        (b"\xff\x81", "nonsense", "ÿ\ufffd"),
    ],
)
def test_a_charset_is_read_as_it_is_meant(data: bytes, charset: str, text: str) -> None:
    assert decoded(data, charset) == text


class TestFiles:
    def test_an_unchanged_mailbox_is_not_read_again(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        box.write_bytes(boxed(letter(1), letter(2)))
        batches = read(box)
        assert [draft.source_id for draft in drafts(batches)] == ["1@harbour", "2@harbour"]
        assert read(box, batches[-1].cursor) == []

    def test_of_an_appended_mailbox_only_the_new_is_read(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        box.write_bytes(boxed(letter(1), letter(2)))
        cursor = read(box)[-1].cursor
        with box.open("ab") as file:
            file.write(boxed(letter(3)))
        again = read(box, cursor)
        assert [draft.source_id for draft in drafts(again)] == ["3@harbour"]
        assert [entry.item for entry in ledger(again)] == ["box.mbox:3-3"]

    def test_a_message_that_was_still_being_written_is_read_again(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        whole = boxed(letter(1), letter(2, "First half, second half."))
        box.write_bytes(whole[:-15])
        cursor = read(box)[-1].cursor
        box.write_bytes(whole)
        (draft,) = drafts(read(box, cursor))
        assert draft.text == "First half, second half."

    def test_a_followed_file_that_is_being_written_is_read_when_it_is_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "1.eml").write_bytes(bytes(letter(1)))
        cursor, whole = read(tmp_path)[-1].cursor, bytes(letter(2, "First half, second half."))
        half = tmp_path / "2.eml"
        half.write_bytes(whole[:-15])
        waited: list[float] = []

        def wait(seconds: float) -> None:
            waited.append(seconds)
            half.write_bytes(whole)

        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", wait)
            batches = read(tmp_path, cursor)
        assert 0 < waited[0] <= 1
        assert drafts(batches) == []
        (draft,) = drafts(read(tmp_path, batches[-1].cursor if batches else cursor))
        assert draft.text == "First half, second half."

    def test_a_rewritten_mailbox_is_read_from_its_start(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        box.write_bytes(boxed(letter(1), letter(2)))
        cursor = read(box)[-1].cursor
        box.write_bytes(boxed(letter(2), letter(4), letter(5)))
        assert len(drafts(read(box, cursor))) == 3

    def test_lines_that_look_like_separators_do_not_cut_a_message(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        box.write_bytes(boxed(letter(1, "One.\n\nFrom now on it burns.\n>From here")))
        (draft,) = drafts(read(box))
        assert draft.text == "One.\n\nFrom now on it burns.\nFrom here"

    def test_a_maildir_is_read_and_a_message_that_moves_in_it_is_not_read_again(
        self, tmp_path: Path
    ) -> None:
        for name in ("cur", "new", "tmp", ".Sent/cur", ".Sent/new"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "new/1.host").write_bytes(bytes(letter(1)))
        (tmp_path / ".Sent/cur/2.host:2,S").write_bytes(bytes(letter(2)))
        (tmp_path / "tmp/3.host").write_bytes(bytes(letter(3)))
        batches = read(tmp_path)
        assert {draft.source_id for draft in drafts(batches)} == {"1@harbour", "2@harbour"}
        (tmp_path / "new/1.host").rename(tmp_path / "cur/1.host:2,RS")
        assert drafts(read(tmp_path, batches[-1].cursor)) == []

    def test_a_reading_that_was_interrupted_goes_on_and_misses_no_new_file(
        self, tmp_path: Path
    ) -> None:
        for number in range(250):
            (tmp_path / f"{number:03}.eml").write_bytes(bytes(letter(number)))
        first, *_ = read(tmp_path)
        assert 0 < len(first.drafts) < 250
        (tmp_path / "000a.eml").write_bytes(bytes(letter(999)))
        rest = drafts(read(tmp_path, first.cursor))
        assert len({d.source_id for d in (*first.drafts, *rest)}) == 251
        assert len(rest) == 251 - len(first.drafts)

    @pytest.mark.worker
    @pytest.mark.parametrize("levels", [20, 21, 99, 300])
    def test_what_is_nested_too_deeply_is_named_and_the_rest_is_read(
        self, tmp_path: Path, levels: int
    ) -> None:
        deep = b"".join(
            b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n\nlevel %d\n--%d\n" % (n, n, n, n)
            for n in range(levels)
        )
        file = b'Content-Type: application/pdf; name="plan.pdf"\n\nx\n'
        (tmp_path / "a.eml").write_bytes(b"From: a@x\nSubject: A nest\n" + deep + file)
        batches = read(tmp_path)
        text = drafts(batches)[0].text
        read_up_to = min(levels, 20)
        assert f"level {read_up_to - 1}" in text
        assert f"level {read_up_to + 1}" not in text
        told = "; ".join(entry.reason for entry in ledger(batches))
        assert ("nested deeper than 20 levels" in told) == (levels > 20)
        assert ("plan.pdf" in told) == (levels in (21, 22))

    def test_a_message_nested_too_deeply_keeps_those_above_it(self, tmp_path: Path) -> None:
        heads = (
            b"Content-Type: message/rfc822\n\nFrom: a@x\nSubject: nest %d\n" % n for n in range(30)
        )
        (tmp_path / "a.eml").write_bytes(b"From: a@x\nSubject: top\n" + b"".join(heads) + b"\nx")
        batches = read(tmp_path)
        assert "nest 9" in repr(drafts(batches))
        told = "; ".join(entry.reason for entry in ledger(batches))
        assert "nested deeper than 20 levels were not read" in told

    def test_a_broken_message_is_named_and_the_others_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.eml").write_bytes(b"X-Nothing: here\n\n")
        (tmp_path / "b.msg").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1broken")
        (tmp_path / "c.eml").write_bytes(bytes(letter()))
        (tmp_path / "d.txt").write_text("A shopping list.")
        (tmp_path / "e.eml").write_bytes(b"")
        (tmp_path / "f.eml").write_bytes(b"From: a@x\nTo: b@x\n\n")
        os.truncate(tmp_path / "f.eml", MAX_MESSAGE_BYTES + 1)
        deep = b"".join(
            b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(99)
        )
        (tmp_path / "g.eml").write_bytes(b"From: a@x\nSubject: A nest\n" + deep + b"\nwords\n")
        (tmp_path / "h").symlink_to(tmp_path / "c.eml")
        (tmp_path / "i.eml").write_bytes(bytes(letter()))
        os.mkfifo(tmp_path / "j.eml")
        (tmp_path / "k.txt").write_bytes(b"")  # no mail by its name: the source files says it
        (tmp_path / "l.eml").write_bytes(b"%PDF-1.4\n1 0 obj\n")
        (tmp_path / "m.msg").write_bytes(b"\x89PNG\r\n")
        batches = read(tmp_path)
        assert {draft.title for draft in drafts(batches)} == {letter()["subject"], "A nest"}
        why = reasons(batches)
        assert why.pop("b.msg").startswith("it is damaged: ")
        assert why == {
            "a.eml": "the message is empty: it has no subject, no text and no attachment",
            "e.eml": "the file is empty",
            "f.eml": "the message is larger than 36 MiB",
            "h": "a symbolic link; only the file it points to is read",
            "i.eml": "a copy of a message that was read before it",
            "j.eml": "hidden, or no regular file",
            **dict.fromkeys(
                ("l.eml", "m.msg"),
                "its name says that it is mail, but it is something else; name it as what it is",
            ),
        }
        assert read(tmp_path, batches[-1].cursor) == []

    def test_two_messages_with_one_id_are_both_kept(self, tmp_path: Path) -> None:
        box = tmp_path / "box.mbox"
        box.write_bytes(boxed(letter(1), letter(1, "Something else.")))
        first, second = drafts(read(box))
        assert first.source_id == "1@harbour"
        assert second.source_id.startswith("1@harbour#")
        assert second.text == "Something else."

    def test_what_is_neither_file_nor_folder_is_an_error(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SourceError, match="neither a file nor a folder"):
            read(tmp_path / "pipe")


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 99, b"\xff" * 99, b"Content-Type: multipart/x\n\n--"]
)
def test_any_bytes_give_a_message_or_a_reason(data: bytes) -> None:
    assert read_message(data).attachments == []


def released(batches: list[Batch]) -> list[str]:
    return [name.partition("#")[0] for batch in batches for name in batch.released]


def follow(folder: Path, cursor: Mapping[str, Any]) -> tuple[list[Batch], Mapping[str, Any]]:
    """What a reading gives, whose cursor was stored as JSON, and the cursor after it."""
    batches = read(folder, json.loads(json.dumps(cursor)))
    return batches, batches[-1].cursor if batches else cursor


class TestDeletedFiles:
    def test_a_file_takes_its_message_and_its_attachments_along(self, tmp_path: Path) -> None:
        sent = letter(1)
        sent.add_attachment(b"oil", maintype="text", subtype="plain", filename="oil.txt")
        (tmp_path / "a.eml").write_bytes(bytes(sent))
        (tmp_path / "b.eml").write_bytes(bytes(letter(2)))
        _, cursor = follow(tmp_path, {})
        (tmp_path / "a.eml").unlink()
        batches, cursor = follow(tmp_path, cursor)
        assert released(batches) == ["1@harbour", "1@harbour"]
        (entry,) = ledger(batches)
        assert (entry.item, entry.outcome) == ("a.eml", "deleted")
        assert read(tmp_path, cursor) == []
        (tmp_path / "b.eml").write_bytes(bytes(letter(3)))
        os.utime(tmp_path / "b.eml", (0, 0))
        assert released(follow(tmp_path, cursor)[0]) == ["2@harbour"]  # it says another thing now

    def test_a_message_stays_while_something_else_there_has_it(self, tmp_path: Path) -> None:
        for name in ("box/new", "box/cur", "box/tmp"):
            (tmp_path / name).mkdir(parents=True)
        for number, other in ((1, "copy.eml"), (2, "old.mbox"), (3, "box/new/3")):
            (tmp_path / f"{number}.eml").write_bytes(bytes(letter(number)))
            whole = boxed(letter(number)) if other == "old.mbox" else bytes(letter(number))
            (tmp_path / other).write_bytes(whole)
        _, cursor = follow(tmp_path, {})
        (tmp_path / "1.eml").rename(tmp_path / "renamed.eml")
        (tmp_path / "2.eml").unlink()
        (tmp_path / "3.eml").unlink()
        (tmp_path / "copy.eml").unlink()
        batches, cursor = follow(tmp_path, cursor)
        assert released(batches) == []
        assert {e.item for e in ledger(batches) if e.outcome == "deleted"} == {
            "1.eml", "2.eml", "3.eml", "copy.eml"
        }  # fmt: skip
        (tmp_path / "renamed.eml").unlink()
        assert released(follow(tmp_path, cursor)[0]) == ["1@harbour"]

    def test_another_message_with_the_same_id_is_another_message(self, tmp_path: Path) -> None:
        (tmp_path / "a.eml").write_bytes(bytes(letter(1)))
        (tmp_path / "b.eml").write_bytes(bytes(letter(1, "The lamp is out.")))
        _, cursor = follow(tmp_path, {})
        (tmp_path / "a.eml").unlink()
        batches, _ = follow(tmp_path, cursor)
        assert released(batches) == ["1@harbour"]
        assert MailFiles().having(cursor, batches[-1].released) == set(batches[-1].released)
        assert MailFiles().having(batches[-1].cursor, batches[-1].released) == set()

    def test_what_is_not_known_to_be_gone_stays(self, tmp_path: Path) -> None:
        folder = tmp_path / "mail"
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "a.eml").write_bytes(bytes(letter(1)))
        _, cursor = follow(folder, {})
        listed = files_at(folder, "")
        listed.files.clear()
        assert listed.is_gone(["deep/a.eml"]) == ["deep/a.eml"]
        listed.unseen.append("deep")
        assert listed.is_gone(["deep/a.eml"]) == []
        folder.rename(tmp_path / "away")
        with pytest.raises(SourceError):
            read(folder, cursor)
        assert MailFiles().having({}, ["x"]) == set()

    def test_a_reading_that_was_killed_goes_on_knowing_what_was_there(self, tmp_path: Path) -> None:
        for number in range(450):
            (tmp_path / f"{number:03}.eml").write_bytes(bytes(letter(number)))
        first = next(iter(MailFiles().read(Location("mail", str(tmp_path)), {})))
        (tmp_path / "001.eml").unlink()
        (tmp_path / "440.eml").unlink()  # which was not reached
        batches, cursor = follow(tmp_path, first.cursor)
        assert released(batches) == ["1@harbour"]
        assert read(tmp_path, cursor) == []

    def test_a_single_file_that_was_deleted_is_no_error(self, tmp_path: Path) -> None:
        (tmp_path / "a.eml").write_bytes(bytes(letter(1)))
        _, cursor = follow(tmp_path / "a.eml", {})
        (tmp_path / "a.eml").unlink()
        batches, cursor = follow(tmp_path / "a.eml", cursor)
        assert released(batches) == ["1@harbour"]


def test_an_address_that_is_a_url_with_a_password_is_not_taken_apart() -> None:
    secret = "q7Wz" + "81mLw9x"
    login = f"https://bob:{secret}@git.acme.io/a.git"
    for header in (login, f"{login} <b@x.io>", f'"Ann" <ann@x.io>, {login} <b@x.io>, c@x.io'):
        kept = people([header])
        assert secret not in repr(kept)
        assert "b@x.io" not in header or any("<b@x.io>" in who for who in kept)
    assert kept[0] == "Ann <ann@x.io>"
    assert kept[-1] == "c@x.io"
