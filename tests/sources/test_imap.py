"""Mailboxes on a real IMAP server: what is read, from where, and what the server never gets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imap_server import PASSWORD, USER, ImapServer, imap_server, write_certificate
from mem_search.errors import InputError, SourceError
from mem_search.model import Batch
from mem_search.sources.mail import MailFiles, imap
from mem_search.sources.mail.accounts import PASSWORDS, Account, keep_password, password_of
from mem_search.sources.mail.imap import decoded_name, encoded_name
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES
from patience import PATIENCE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEM_SEARCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def server() -> Iterator[ImapServer]:
    with imap_server() as server:
        yield server


def letter(number: int, text: str = "It burns.", **more: str) -> bytes:
    headers = {"From": "ada@x", "Subject": f"Lamp {number}", "Message-ID": f"<{number}@x>", **more}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{head}\r\n{text}\r\n".encode()


def url(server: ImapServer, folder: str = "INBOX", scheme: str = "imap") -> str:
    return f"{scheme}://{USER}@127.0.0.1:{server.port}/{folder}"


def read(
    place: str, cursor: Mapping[str, Any] | None = None, password: str = PASSWORD
) -> list[Batch]:
    keep_password(Account.parse(place), password)
    source = MailFiles()
    return list(source.read(source.locate(place), cursor or {}))


def ids(batches: list[Batch]) -> list[str]:
    return [draft.source_id for batch in batches for draft in batch.drafts]


def test_messages_are_read_once_and_only_new_ones_later(server: ImapServer) -> None:
    server.deliver(letter(1), letter(2))
    batches = read(url(server))
    assert ids(batches) == ["1@x", "2@x"]
    assert [draft.source for batch in batches for draft in batch.drafts] == ["mail"] * 2
    cursor = json.loads(json.dumps(batches[-1].cursor))
    assert read(url(server), cursor) == []
    server.deliver(letter(3))
    (later,) = read(url(server), cursor)
    assert [draft.source_id for draft in later.drafts] == ["3@x"]
    assert [(entry.item, entry.records) for entry in later.ledger] == [("INBOX:103-103", 1)]
    assert read(url(server), later.cursor) == []


def test_the_server_is_only_read(server: ImapServer) -> None:
    server.deliver(letter(1))
    server.commands.clear()
    read(url(server))
    said = " ".join(server.commands).upper()
    assert "EXAMINE" in said
    assert "BODY.PEEK[]" in said
    assert not {"SELECT", "STORE", "EXPUNGE", "BODY[]", "APPEND", "CLOSE"} & set(said.split())
    with server.client() as client:
        client.select("INBOX", readonly=True)
        assert b"\\Seen" not in client.fetch("1", "(FLAGS)")[1][0]


def test_a_reading_that_was_interrupted_goes_on_where_it_was(
    server: ImapServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.sources.base.BATCH_SIZE", 3)
    server.deliver(*(letter(number) for number in range(8)))
    batches = read(url(server))
    assert [len(batch.drafts) for batch in batches] == [3, 3, 2]
    assert [(batch.done, batch.total) for batch in batches] == [(3, 8), (6, 8), (8, 8)]
    assert [entry.item for batch in batches for entry in batch.ledger] == [
        "INBOX:101-103", "INBOX:104-106", "INBOX:107-108",
    ]  # fmt: skip
    assert ids(read(url(server), batches[0].cursor)) == ids(batches[1:])


def test_a_folder_that_was_made_anew_is_read_again(server: ImapServer) -> None:
    server.deliver(letter(1), letter(2), folder="Lamps")
    cursor = read(url(server, "Lamps"))[-1].cursor
    with server.client() as client:
        client.delete("Lamps")
    server.deliver(letter(3), folder="Lamps")
    batches = read(url(server, "Lamps"), cursor)
    assert ids(batches) == ["3@x"]
    assert batches[0].outdated == ("Lamps",)


def test_all_folders_are_read_but_those_for_rubbish(server: ImapServer) -> None:
    folders = ("INBOX", "Häfen & Öl", "Work", "Trash", "Junk", "Entwürfe")
    for number, folder in enumerate(folders):
        server.deliver(letter(number), folder=encoded_name(folder))
    batches = read(url(server, ""))
    assert ids(batches) == ["0@x", "1@x", "2@x"]
    assert set(batches[-1].cursor["folders"]) == {"INBOX", "Häfen & Öl", "Work"}
    assert ids(read(url(server, "Trash"))) == ["3@x"]
    assert ids(read(url(server, "H%C3%A4fen%20%26%20%C3%96l"))) == ["1@x"]
    server.deliver(letter(9), folder="New")
    assert ids(read(url(server, ""), batches[-1].cursor)) == ["9@x"]


def test_a_message_that_is_too_large_or_broken_is_named(
    server: ImapServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.deliver(letter(1), letter(2, "long " * 9_000), b"X-Nothing: here\r\n\r\n", letter(4))
    monkeypatch.setattr(imap, "MAX_MESSAGE_BYTES", 30_000)
    batches = read(url(server))
    assert ids(batches) == ["1@x", "4@x"]
    failed = {entry.item: entry.reason for batch in batches for entry in batch.ledger
              if entry.outcome == "failed"}  # fmt: skip
    assert failed == {
        "INBOX:102": f"the message is larger than {MAX_MESSAGE_BYTES // 2**20} MiB",
        "INBOX:103": "the message is empty: it has no subject, no text and no attachment",
    }


def test_what_is_wrong_is_said_without_the_password(server: ImapServer) -> None:
    server.deliver(letter(1), folder="Lamps")
    with pytest.raises(SourceError, match="no password is kept for ada@127") as missing:
        read(url(server), password="")
    with pytest.raises(SourceError, match=r"refuses the password of ada; .*app password") as wrong:
        read(url(server), password="hunter2")
    with pytest.raises(SourceError, match=r"no folder 'Nowhere' .*it has INBOX, Lamps") as folder:
        read(url(server, "Nowhere"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SourceError, match=r"cannot read the mail of ada@127\.0\.0\.1: .*refused"):
        read(f"imap://ada@127.0.0.1:{port}/")
    for error in (missing, wrong, folder):
        assert "hunter2" not in str(error.value)
        assert PASSWORD not in str(error.value)


def test_tls_is_used_and_the_certificate_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = write_certificate(tmp_path / "server.pem")
    with imap_server(certificate, implicit=True) as server:
        server.deliver(letter(1))
        with pytest.raises(SourceError, match="its certificate is not valid: self-signed"):
            read(url(server, scheme="imaps"))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert ids(read(url(server, scheme="imaps"))) == ["1@x"]


def test_starttls_comes_before_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another machine: on this one a connection need not be encrypted."""
    monkeypatch.setattr("mem_search.sources.mail.accounts.is_loopback", lambda host: False)
    certificate = write_certificate(tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with imap_server(certificate) as server:
        assert Account.parse(url(server)).security == "starttls"
        assert read(url(server))
        before = server.commands[: 1 + next(n for n, c in enumerate(server.commands) if "TLS" in c)]
        # Python 3.14 asks for no list that the greeting has.
        assert [command.split()[1] for command in before][-2:] in (
            ["CAPABILITY", "STARTTLS"],
            ["STARTTLS"],
        )
    with imap_server() as server:
        with pytest.raises(SourceError, match="it offers no encryption"):
            read(url(server))
        assert not [c for c in server.commands if "LOGIN" in c or "AUTHENTICATE" in c]


def test_a_server_that_sends_without_end_is_left() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as stream:
            stream.write(b"* OK ready\r\n")
            answers = {
                b"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
                b"EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n",
                b"UID": b"* 1 FETCH (UID 1 RFC822.SIZE 10)\r\n",
            }
            while words := stream.readline().split():
                if b"BODY.PEEK[])" in words:
                    stream.write(b"* 1 FETCH (UID 1 BODY[] {99999999999}\r\n")
                    break
                stream.write(answers.get(words[1], b"") + words[0] + b" OK done\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(SourceError, match="the server sends 99,999,999,999 bytes at once"):
        read(f"imap://ada@127.0.0.1:{listener.getsockname()[1]}/INBOX", password="x")
    thread.join(PATIENCE)
    listener.close()


@pytest.mark.parametrize(
    ("written", "normal", "security"),
    [
        ("imap://ada@mail.example.org", "imaps://ada@mail.example.org/", "tls"),
        ("IMAPS://ada@Mail.Example.org:993/inbox", "imaps://ada@mail.example.org/INBOX", "tls"),
        ("imap://ada@mail.example.org:143/a%20b", "imap://ada@mail.example.org:143/a%20b",
         "starttls"),
        ("imaps://a%40b.org@h/x/y/", "imaps://a@b.org@h/x/y", "tls"),
        ("imap://ada@localhost/", "imap://ada@localhost/", "none"),
        ("imap://ada@[::1]:1143/", "imap://ada@[::1]:1143/", "none"),
        ("imaps://ada@127.0.0.1/", "imaps://ada@127.0.0.1/", "tls"),
    ],
)  # fmt: skip
def test_a_url_has_one_form_and_names_its_security(
    written: str, normal: str, security: str
) -> None:
    account = Account.parse(written)
    assert (account.url, account.security) == (normal, security)
    assert Account.parse(account.url) == account


@pytest.mark.parametrize(
    "written",
    ["imaps://mail.example.org/INBOX", "imaps://ada@/INBOX", "imaps://ada@h:99999/", "http://a@b/",
     "imaps://ada@h/a%0D%0Ab", "imaps://a%00@h/", "imaps://ada@h/?x", "imaps://ada@[h/"],
)  # fmt: skip
def test_a_url_that_names_no_mailbox_is_refused(written: str) -> None:
    with pytest.raises(InputError, match=r"imaps://ada@mail\.example\.org/INBOX") as refused:
        Account.parse(written)
    assert refused.value.field == "path"


def test_a_url_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError, match="change the password") as refused:
        Account.parse("imaps://ada:hunter2@mail.example.org/")
    assert "hunter2" not in refused.value.message


def test_passwords_are_in_a_file_that_only_its_owner_reads(home: Path) -> None:
    ada, bob = Account.parse("imaps://ada@h/"), Account.parse("imaps://bob@h/")
    assert password_of(ada) == ""
    keep_password(ada, "one")
    keep_password(bob, "two")
    file = home / PASSWORDS
    assert file.stat().st_mode & 0o777 == 0o600
    assert (password_of(ada), password_of(bob)) == ("one", "two")
    assert password_of(Account.parse("imaps://ada@elsewhere/")) == ""
    file.chmod(0o644)
    with pytest.raises(SourceError, match=r"other users can read .*chmod 600"):
        password_of(ada)
    file.chmod(0o600)
    keep_password(ada, "")
    assert json.loads(file.read_text()) == {"bob@h": "two"}
    keep_password(bob, "")
    assert list(home.iterdir()) == []
    file.write_text("[")
    file.chmod(0o600)
    with pytest.raises(SourceError, match="is not what it should be"):
        password_of(ada)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=50))
def test_names_of_folders_are_coded_and_decoded(name: str) -> None:
    coded = encoded_name(name)
    assert coded.isascii()
    assert decoded_name(coded.encode()) == name


def test_names_of_folders_are_coded_as_the_standard_has_it() -> None:
    assert encoded_name("~peter/mail/台北/日本語") == "~peter/mail/&U,BTFw-/&ZeVnLIqe-"
    assert decoded_name(b"&U,BTFw-&-&bad base-") == "台北&&bad base-"
