"""Mail that services send to the worker: each form is a record, and sent twice it is one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import FormData, encode_basic_auth
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from http_worker import AUTHORIZED, TOKEN, Client, lifecycle_of

from mem_search.features.documents import incoming_mail
from mem_search.http.core.app import build_app
from mem_search.settings import Settings
from patience import PATIENCE

LETTER = (
    b"From: Ada Quay <ada@example.org>\r\nTo: bob@example.org\r\nSubject: Oil\r\n"
    b"Message-ID: <1@harbour>\r\nDate: Sun, 01 Mar 2026 10:00:00 +0100\r\n\r\n"
    b"The barrel is empty.\r\n"
)
RAW = {"Content-Type": "message/rfc822"}


async def taken(client: Client, reply: Any) -> dict[str, Any]:
    """What the job of a reply has stored."""
    assert reply.status == 200, await reply.text()
    path = f"/api/jobs/{(await reply.json())['job']}"
    async with asyncio.timeout(PATIENCE):
        while True:
            job = await (await client.get(path, headers=AUTHORIZED)).json()
            if job["state"] not in ("queued", "running"):
                assert job["state"] == "done", job
                (location,) = job["result"]["locations"]
                return {n: location[n] for n in ("new", "unchanged", "failed") if location[n]}
            await asyncio.sleep(0.02)


async def emails(client: Client) -> list[dict[str, Any]]:
    reply = await client.get("/api/search/emails?format=json&mode=keyword", headers=AUTHORIZED)
    return list((await reply.json())["results"])


async def test_a_message_is_stored_once_however_often_it_is_sent(empty: Client) -> None:
    for stored in ({"new": 1}, {"unchanged": 1}):
        reply = await empty.post("/documents/mail", data=LETTER, headers=AUTHORIZED | RAW)
        assert await taken(empty, reply) == stored
    (email,) = await emails(empty)
    assert email["title"] == "Oil"
    assert list(lifecycle_of(empty).settings.spool_dir.iterdir()) == []


async def test_another_message_with_a_known_id_does_not_replace_the_first(empty: Client) -> None:
    for letter in (LETTER, LETTER.replace(b"empty", b"full")):
        reply = await empty.post("/documents/mail", data=letter, headers=AUTHORIZED | RAW)
        assert await taken(empty, reply) == {"new": 1}
    assert len(await emails(empty)) == 2


async def test_a_service_may_send_a_form_or_json_and_the_token_as_a_password(empty: Client) -> None:
    form = FormData({"headers": "From: ada@x\nMessage-ID: <2@x>\nSubject: Lamps", "text": "Dark."})
    form.add_field("attachment1", b"oil;5", filename="oil.csv", content_type="text/csv")
    password = {"Authorization": encode_basic_auth("any", TOKEN)}
    reply = await empty.post("/documents/mail", data=form, headers=password)
    assert await taken(empty, reply) == {"new": 2}
    urlencoded = FormData({"message-headers": '[["Message-Id", "<3@x>"], ["Subject", "Pier"]]',
                           "from": "ada@x", "body-plain": "It is lång."})  # fmt: skip
    reply = await empty.post("/documents/mail", data=urlencoded, headers=password)
    assert await taken(empty, reply) == {"new": 1}
    postmark = {"From": "ada@x", "Subject": "Quay", "TextBody": "Long.", "Headers": [],
                "Attachments": [{"Name": "a.txt", "Content": base64.b64encode(b"x").decode(),
                                 "ContentType": "text/plain"}]}  # fmt: skip
    reply = await empty.post("/documents/mail", json=postmark, headers=password)
    assert await taken(empty, reply) == {"new": 2}
    assert {each["title"] for each in await emails(empty)} == {"Lamps", "Pier", "Quay"}


@pytest.mark.parametrize(
    ("headers", "body", "status", "why"),
    [
        (AUTHORIZED | {"Content-Type": "image/png"}, LETTER, 415, "image/png is not mail; what is"),
        (AUTHORIZED | RAW, b"Buy oil", 422, "the body is not a mail: it has no mail headers"),
        (AUTHORIZED | RAW, b"", 422, "the body is not a mail"),
        (AUTHORIZED | {"Content-Type": "application/json"}, b"{", 400, "the body is not JSON"),
        (AUTHORIZED | {"Content-Type": "application/json"}, b"{}", 422, "not from a known service"),
        (AUTHORIZED | {"Content-Type": "multipart/form-data"}, b"x", 400, "complete multipart"),
        (RAW, LETTER, 401, "token"),
        ({"Authorization": encode_basic_auth("x", "wrong")} | RAW, LETTER, 401, "token"),
        ({"Authorization": "Basic !"} | RAW, LETTER, 401, "Authorization: Bearer TOKEN"),
    ],
)  # fmt: skip
async def test_what_is_no_mail_is_refused_with_the_reason(
    empty: Client, headers: dict[str, str], body: bytes, status: int, why: str
) -> None:
    reply = await empty.post("/documents/mail", data=body, headers=headers)
    assert reply.status == status, await reply.text()
    assert why in (await reply.json())["detail"]
    assert await emails(empty) == []


async def test_a_password_is_no_token_on_other_routes(empty: Client) -> None:
    password = {"Authorization": encode_basic_auth("any", TOKEN)}
    assert (await empty.get("/api/jobs", headers=password)).status == 401


async def test_a_message_that_is_too_large_is_refused(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming_mail, "MAX_MESSAGE_BYTES", 100)
    reply = await empty.post("/documents/mail", data=LETTER, headers=AUTHORIZED | RAW)
    assert (reply.status, (await reply.json())["detail"][:26]) == (
        413,
        "the message is larger than",
    )
    monkeypatch.setattr(incoming_mail, "MAX_BYTES", 100)
    for sent in (
        LETTER,
        FormData({"headers": "From: ada@x", "text": "x" * 200}, default_to_multipart=True),
    ):
        kind = RAW if sent is LETTER else {}
        reply = await empty.post("/documents/mail", data=sent, headers=AUTHORIZED | kind)
        assert (reply.status, (await reply.json())["detail"][:23]) == (
            413,
            "the body is larger than",
        )


async def test_with_the_key_of_a_service_only_what_it_signed_is_taken(settings: Settings) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = base64.b64encode(private.public_key().public_bytes(serialization.Encoding.DER, form))
    keys = {"mailgun_key": "key-1", "sendgrid_key": public.decode()}
    async with TestClient(TestServer(build_app(replace(settings, **keys)))) as client:
        await lifecycle_of(client).ready()

        async def status(data: Any, **headers: str) -> int:
            reply = await client.post("/documents/mail", data=data, headers=AUTHORIZED | headers)
            assert reply.status == 200 or "is not signed by a service" in await reply.text()
            return reply.status

        def mailgun(at: float, nonce: str, *, key: str = "key-1") -> FormData:
            said = f"{int(at)}{nonce}".encode()
            signature = hmac.new(key.encode(), said, hashlib.sha256).hexdigest()
            signed = {"timestamp": str(int(at)), "token": nonce, "signature": signature}
            return FormData({**signed, "body-mime": LETTER.decode()})

        now = time.time()
        assert await status(mailgun(now, "a")) == 200
        assert await status(mailgun(now, "a", key="other")) == 403
        assert await status(mailgun(now - 13 * 3600, "a")) == 403
        assert await status(FormData({"body-mime": LETTER.decode()})) == 403
        assert await status(LETTER, **RAW) == 403

        at, border = str(int(now)), "b"
        body = (
            f'--{border}\r\nContent-Disposition: form-data; name="email"\r\n\r\n'.encode()
            + LETTER.replace(b"<1@", b"<2@")
            + f"\r\n--{border}--\r\n".encode()
        )
        signature = private.sign(at.encode() + body, ec.ECDSA(hashes.SHA256()))
        signed = {
            "Content-Type": f"multipart/form-data; boundary={border}",
            "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(signature).decode(),
            "X-Twilio-Email-Event-Webhook-Timestamp": at,
        }
        assert await status(body, **signed) == 200
        assert await status(body.replace(b"empty", b"full"), **signed) == 403
        assert await status(body, **signed | {"X-Twilio-Email-Event-Webhook-Timestamp": "1"}) == 403


async def test_a_message_is_opened_with_its_thread_and_with_what_it_quotes(empty: Client) -> None:
    def answer(number: int, day: int, text: str, **headers: str) -> bytes:
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        return (
            f"From: bob@example.org\r\nSubject: Re: Oil {number}\r\nMessage-ID: <{number}@harbour>"
            f"\r\nDate: {day:02} Mar 2026 10:00:00 +0000\r\n{head}\r\n{text}\r\n"
        ).encode()

    letters = (
        LETTER,
        answer(2, 2, "> The barrel is empty.\r\nFill it.", In_Reply_To="<1@harbour>"),
        answer(3, 3, "Done.", In_Reply_To="<2@harbour>"),  # without References, as some programs
        answer(4, 4, "Thanks.", References="<1@harbour> <gone@harbour>"),
        answer(5, 5, "Something else."),
    )
    for letter in letters:
        reply = await empty.post("/documents/mail", data=letter, headers=AUTHORIZED | RAW)
        assert await taken(empty, reply) == {"new": 1}
    refs = {each["title"]: each["ref"] for each in await emails(empty)}

    async def text(path: str) -> str:
        reply = await empty.get(path, headers=AUTHORIZED | {"Accept": "text/plain"})
        assert reply.status == 200, await reply.text()
        return await reply.text()

    for title in ("Oil", "Re: Oil 2"):
        *_, thread = (await text(f"/api/records/{refs[title]}")).partition("### Thread\n")
        lines = thread.splitlines()
        shown = [next(t for t in sorted(refs, reverse=True) if t in line) for line in lines]
        assert shown == ["Oil", "Re: Oil 2", "Re: Oil 3", "Re: Oil 4"]
        assert [line.endswith("  <- this") for line in lines] == [each == title for each in shown]
    path = f"/api/records/{refs['Re: Oil 2']}"
    opened = await (await empty.get(path, headers=AUTHORIZED)).json()
    assert [each["title"] for each in opened["thread"]] == [
        "Oil",
        "Re: Oil 2",
        "Re: Oil 3",
        "Re: Oil 4",
    ]
    assert opened["thread"][1] == {
        "ref": refs["Re: Oil 2"], "title": "Re: Oil 2", "sender": "bob@example.org",
        "created_at": "2026-03-02T10:00:00.000Z",
    }  # fmt: skip
    for tokens, has_thread in ((5000, True), (150, False)):
        less = await (await empty.get(f"{path}?max_tokens={tokens}", headers=AUTHORIZED)).json()
        assert ("thread" in less, less["tokens_used"] <= tokens) == (has_thread, True)
    alone = await (await empty.get(f"/api/records/{refs['Re: Oil 5']}", headers=AUTHORIZED)).json()
    assert "thread" not in alone
    assert "### Thread" not in await text(f"/api/records/{refs['Re: Oil 5']}")
    content = await text(f"/documents/{refs['Re: Oil 2']}/content")
    assert content == "> The barrel is empty.\nFill it."
