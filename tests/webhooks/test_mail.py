"""E-mail about matches: over TLS, to listed addresses alone, and never with a header of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import InputError
from mem_search.features.webhooks.mail import Mail, RefusedAddress, in_words
from mem_search.settings import Settings
from smtp_server import certificate, mailbox

ADA = "ada@example.org"
MATCH = {"id": "local:note:1", "title": "Rent due", "changed": False}
EVENT: dict[str, Any] = {
    "type": "saved_search.matched",
    "data": {"saved_search": "rent", "query": "rent", "count": 1, "matches": [MATCH]},
}
BODY = json.dumps(EVENT).encode()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate that this machine trusts."""
    file = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return file


def mail(place: str, **more: Any) -> Mail:
    return Mail.of(Settings(home=Path("/nowhere"), smtp=place, smtp_to=(ADA,), **more))


@pytest.mark.parametrize("implicit", [True, False])
async def test_a_message_goes_over_tls_with_the_password(trusted: Path, implicit: bool) -> None:
    async with mailbox(trusted, implicit=implicit) as box:
        scheme = "smtps" if implicit else "smtp"
        sender = mail(f"{scheme}://me@127.0.0.1:{box.port}", smtp_password="password")
        attempt = await sender.send(ADA, "msg_1", BODY)
    assert (attempt.delivered, attempt.error) == (True, "")
    ((recipient, message),) = box.messages
    assert (recipient, box.encrypted, box.login) == (ADA, True, "\0me\0password")
    assert message["Subject"] == "[mem-search] 1 new: rent"
    assert (message["To"], message["From"], message["Message-ID"]) == (
        ADA, ADA, "<msg_1@example.org>",
    )  # fmt: skip
    assert "+ Rent due  local:note:1" in message.get_content()


async def test_a_password_never_goes_without_tls(tmp_path: Path) -> None:
    async with mailbox() as box:
        plain = mail(f"smtp://me@127.0.0.1:{box.port}", smtp_password="secret")
        attempt = await plain.send(ADA, "m", BODY)
        assert (attempt.delivered, attempt.final, box.login) == (False, False, "")
        assert "STARTTLS" in attempt.error
        assert (await mail(f"smtp://127.0.0.1:{box.port}").send(ADA, "m", BODY)).delivered
    async with mailbox(certificate(tmp_path)) as box:  # which nobody trusts
        attempt = await mail(f"smtp://me@127.0.0.1:{box.port}", smtp_password="secret").send(
            ADA, "m", BODY
        )
        assert not attempt.delivered
        assert "CERTIFICATE_VERIFY_FAILED" in attempt.error
        assert box.login == ""


@pytest.mark.parametrize(
    ("command", "answer", "final"),
    [("RCPT", "550 unknown", True), ("RCPT", "451 later", False), ("MAIL", "421 busy", False),
     ("DATA", "554 no", False), ("DATA", "nonsense", False)],
)  # fmt: skip
async def test_what_the_server_refuses_is_told(command: str, answer: str, final: bool) -> None:
    async with mailbox() as box:
        box.answers = {command: answer}
        attempt = await mail(f"smtp://127.0.0.1:{box.port}").send(ADA, "m", BODY)
    assert (attempt.delivered, attempt.final) == (False, final)
    assert attempt.error.startswith("the mail server: ")
    gone = await mail(f"smtp://127.0.0.1:{box.port}").send(ADA, "m", BODY)
    assert (gone.delivered, gone.final) == (False, False)


@pytest.mark.parametrize(
    "address",
    ["bob@example.org", "", "ada@example.org\nBcc: bob@example.org", "ada@example.org, bob@b.org",
     "ada@example.org?bcc=bob@example.org", "<ada@example.org>"],
)  # fmt: skip
async def test_nobody_else_is_written_to(address: str) -> None:
    sender = mail("smtp://127.0.0.1:1")
    with pytest.raises(RefusedAddress, match="MEM_SEARCH_SMTP_TO"):
        sender.check(address)
    assert (await sender.send(address, "m", BODY)).final
    sender.check("ADA@example.org")
    with pytest.raises(RefusedAddress, match="no e-mail is sent here"):
        mail("").check(ADA)


@given(name=st.text(max_size=40), query=st.text(max_size=40), title=st.text(max_size=40))
def test_no_text_of_others_becomes_a_header(name: str, query: str, title: str) -> None:
    match = {**MATCH, "title": f"{title}\r\nBcc: eve@example.org\r\n\r\n"}
    data = {**EVENT["data"], "saved_search": f"a{name}\r\nBcc: eve@example.org", "query": query}
    written = in_words({"data": {**data, "matches": [match]}}, "m", ADA, ADA)
    head = written.as_bytes().partition(b"\n\n")[0]
    assert b"\nBcc" not in head
    assert {each.lower() for each in written} == {
        "subject", "from", "to", "date", "message-id", "auto-submitted", "content-type",
        "content-transfer-encoding", "mime-version",
    }  # fmt: skip


@pytest.mark.parametrize(
    "place",
    ["mail.example.org", "http://mail.example.org", "smtp://", "smtps://a:b@mail.example.org",
     "smtp://mail.example.org:99999", "smtp://mail.example.org/path"],
)  # fmt: skip
def test_a_server_that_cannot_be_read_is_named(place: str) -> None:
    with pytest.raises(InputError) as refused:
        mail(place)
    assert refused.value.field == "smtp"
    with pytest.raises(InputError):
        mail("smtp://mail.example.org", smtp_from="Ada <ada@example.org>")
