"""The forms in which services send incoming mail, put together again as a message."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.features.documents.incoming_mail import File, Form, from_form, from_json
from mem_search.sources.mail.message import Mail, read_message

HEADERS = [
    ("Received", "from mx.example.org; Sun, 01 Mar 2026 09:00:00 +0000"),
    ("From", "Ada Quay <ada@example.org>"),
    ("To", "Bob <bob@example.org>"),
    ("Subject", "=?utf-8?q?K=C3=A4ufe?="),
    ("Date", "Sun, 01 Mar 2026 10:00:00 +0100"),
    ("Message-ID", "<1@harbour>"),
    ("In-Reply-To", "<0@harbour>"),
    ("MIME-Version", "1.0"),
    ("Content-Type", 'multipart/mixed; boundary="gone"'),
]
TEXT, HTML = "The lämp burns.\n", "<p>The <b>lämp</b> burns.</p>"
TABLE = File("käufe.csv", "text/csv", b"oil;5\n")
LOGO = File("logo.png", "image/png", b"\x89PNG", "<logo>")


def sendgrid(**more: bytes) -> Form:
    raw = "\n".join(f"{name}: {value}" for name, value in HEADERS).replace("; ", ";\n ")
    fields = {"headers": raw.encode(), "text": TEXT.encode("latin-1"), "html": HTML.encode(),
              "charsets": b'{"text": "iso-8859-1", "html": "UTF-8"}', "attachments": b"2",
              "from": b"Ada Quay <ada@example.org>", "envelope": b'{"to": ["in@x"]}'}  # fmt: skip
    return Form({**fields, **more}, (TABLE, LOGO))


def mailgun(**more: bytes) -> Form:
    fields = {"message-headers": json.dumps(HEADERS).encode(), "body-plain": TEXT.encode(),
              "body-html": HTML.encode(), "stripped-text": b"no", "recipient": b"in@x",
              "subject": "Käufe".encode(), "signature": b"x", "timestamp": b"1"}  # fmt: skip
    return Form({**fields, **more}, (TABLE, LOGO))


def postmark() -> dict[str, object]:
    special = ("From", "To", "Subject", "Date")
    return {
        "FromName": "Ada Quay", "From": "ada@example.org", "To": "Bob <bob@example.org>",
        "FromFull": {"Email": "ada@example.org", "Name": "Ada Quay", "MailboxHash": ""},
        "Subject": "Käufe", "Date": "Sun, 01 Mar 2026 10:00:00 +0100",
        "MessageID": "of-postmark", "TextBody": TEXT, "HtmlBody": HTML,
        "Headers": [{"Name": n, "Value": v} for n, v in HEADERS if n not in special],
        "Attachments": [
            {"Name": each.name, "ContentType": each.media_type, "ContentID": each.content_id,
             "Content": base64.b64encode(each.data).decode(), "ContentLength": len(each.data)}
            for each in (TABLE, LOGO)
        ],
    }  # fmt: skip


def check(mail: Mail) -> None:
    assert mail.subject == "Käufe"
    assert (mail.sender, mail.to) == (["Ada Quay <ada@example.org>"], ["Bob <bob@example.org>"])
    assert mail.sent is not None
    assert mail.sent.isoformat() == "2026-03-01T10:00:00+01:00"
    assert (mail.message_id, mail.in_reply_to) == ("1@harbour", ["0@harbour"])
    assert mail.text == "The lämp burns."
    (table,) = mail.attachments
    assert (table.name, table.media_type, table.text) == ("käufe.csv", "text/csv", "oil;5\n")
    assert mail.layout == 1


def test_every_service_gives_the_message_that_was_sent() -> None:
    for message in (from_form(sendgrid()), from_form(mailgun()), from_json(postmark())):
        check(read_message(message))


def test_a_message_that_a_service_sends_as_it_came_is_taken_as_it_is() -> None:
    whole = b"From: ada@x\r\nSubject: Oil\r\n\r\nIt is empty."
    assert from_form(sendgrid(email=whole)) == whole
    assert from_form(mailgun(**{"body-mime": whole})) == whole
    assert from_json({**postmark(), "RawEmail": whole.decode()}) == whole


def test_the_same_parts_give_the_same_message() -> None:
    assert from_form(mailgun()) == from_form(mailgun())
    assert from_json(postmark()) == from_json(postmark())


def test_html_alone_is_read_and_so_is_mail_without_headers() -> None:
    form = Form({"from": b"ada@x", "subject": b"Oil", "html": b"<p>It is empty.</p>"})
    mail = read_message(from_form(form))
    assert (mail.sender, mail.subject, mail.text) == (["ada@x"], "Oil", "It is empty.")


def test_no_value_adds_a_header_or_a_part() -> None:
    evil = "x\r\nBcc: eve@x\r\n\r\n--=_mem-search\r\nboo"
    body = {**postmark(), "Subject": evil, "TextBody": "--=_mem-search\r\nContent-Type: a/b\r\n"}
    body["Headers"] = [{"Name": "X\r\nBcc", "Value": "eve@x"}, {"Name": "Cc", "Value": evil}]
    body["Attachments"] = [{"Name": 'a"\r\nX: y', "ContentType": "a/b\r\nX: y", "Content": "eA=="}]
    mail = read_message(from_json(body))
    assert mail.bcc == []
    assert mail.subject == "x Bcc: eve@x --=_mem-search boo"
    assert mail.text.startswith("--=_mem-search")
    assert [each.media_type for each in mail.attachments] == ["application/octet-stream"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "the JSON is not from a known service; what is read"),
        ([1], "the JSON is not from a known service"),
        ({"From": "a@x", "Attachments": [{"Content": "A"}]}, "an attachment is not base64"),
    ],
)
def test_json_of_nobody_is_refused(body: object, why: str) -> None:
    with pytest.raises(InputError, match=why):
        from_json(body)


def test_a_form_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="the form is not from a known service"):
        from_form(Form({"name": b"Ada"}))
    with pytest.raises(InputError, match="is not JSON") as refused:
        from_form(Form({"message-headers": b"["}))
    assert refused.value.field == "message-headers"


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(postmark())), json_values))
def test_any_json_gives_a_message_or_a_reason(body: dict[str, object]) -> None:
    with suppress(InputError):
        read_message(from_json(body))


@given(st.dictionaries(st.sampled_from(sorted({**sendgrid().fields, **mailgun().fields})),
                       st.binary(max_size=60)))  # fmt: skip
def test_any_form_gives_a_message_or_a_reason(fields: dict[str, bytes]) -> None:
    with suppress(InputError):
        read_message(from_form(Form(fields)))
