"""``add``: what a person keeps goes in."""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import IO, Annotated, Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from mem_search.cli.client import Client, open_client
from mem_search.cli.jobs import import_lines, tell_embedding, wait
from mem_search.cli.options import absolute, standard_input
from mem_search.cli.output import note, say
from mem_search.errors import Forbidden, InputError, MemSearchError, SourceError
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.regular_file import open_regular_file
from mem_search.text.counted import counted

_URL: Final = pattern(r"https?://\S+\Z", re.IGNORECASE)
_MAILBOX: Final = pattern(r"imaps?://\S+\Z", re.IGNORECASE)
_NOTION: Final = pattern(r"notion://\S*\Z", re.IGNORECASE)
_FILE: Final = pattern(r"file:///", re.IGNORECASE)
"""As browsers show a file, and file managers copy it."""
_FROM_ENVIRONMENT: Final = "MEM_SEARCH_IMAP_PASSWORD"
_OF_TEXT: Final = pattern(r"\s|[、。，！？「]")
"""What no name of a file has by chance; Chinese and Japanese have no blanks between words."""
_OF_PATH: Final = pattern(r"(?:~/|\.{0,2}/|file:)[^\n]*\Z")
"""How a path begins, which may have blanks: one with a slip in it is no note."""
_SHOWN: Final = 10
"""Files that could not be read, each with its reason."""


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(add)


def add(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR|URL|NOTE...",
            help="Files, folders, web pages, mailboxes (imaps://USER@HOST/FOLDER), or a note.",
        ),
    ],
    title: Annotated[str, typer.Option("--title", help="The title of the note or page.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag of the note or page; may be repeated.")
    ] = None,
    project: Annotated[
        str, typer.Option("--project", help="The project of the note or page.")
    ] = "",
) -> None:
    """Add documents, web pages, mailboxes or a note; - reads a note from standard input.

    Folders, files and mailboxes are followed: what changes there is read again.
    """
    words = [url2pathname(urlsplit(word).path) if _FILE.match(word) else word for word in words]
    given = {name: value for name, value in (("title", title), ("tags", tag or []),
                                             ("project", project)) if value}  # fmt: skip
    urls = [word for word in words if _URL.match(word)]
    mailboxes = [word for word in words if _MAILBOX.match(word)]
    spaces = [word for word in words if _NOTION.match(word)]
    places = [word for word in words if word not in (*urls, *mailboxes, *spaces)]
    if words == ["-"]:
        with standard_input("a note") as stream:
            text: str | None = stream.read()
    else:
        text = _note_in(places) if places else None
    if text is not None:
        if urls or mailboxes or spaces:
            raise InputError("a note and a URL are added one after the other")
        _add_note(text, given)
        return
    if given and (places or mailboxes or spaces):
        raise InputError("--title, --tag and --project belong to a note or a page, not to files")
    if title and len(urls) > 1:
        raise InputError("--title names one page; add the others without it")
    client, failures = open_client(), []
    for word in words:
        try:
            if word in urls:
                _add_url(client, word, given)
            elif word in mailboxes:
                _add_mailbox(client, word)
            elif word in spaces:
                _add_place(client, word)
            else:
                _add_path(client, absolute(word))
        except SourceError as error:  # one bad page or file does not stop the others
            failures.append(error)
            if len(words) > 1:
                note(f"mem-search: {error.message}")
    tell_embedding(client)
    if failures:
        raise (
            failures[0]
            if len(words) == 1
            else SourceError(f"{len(failures)} of {len(words)} could not be added")
        )


def _add_note(text: str, given: Mapping[str, Any]) -> None:
    if not text.strip():
        raise InputError("the note is empty; write some words, or . to add this folder")
    client = open_client()
    line = json.dumps({"kind": "note", "text": text, **given}).encode() + b"\n"
    job = client.upload("/api/import/upload", [line], [("source", "jsonl"), ("name", "note.jsonl")])
    (read,) = wait(client, job["job"], SourceError)["result"]["locations"]
    if read.get("failed") or read.get("forgotten"):
        raise SourceError("the note was not stored; see: mem-search ledger --item note.jsonl")
    say("the note is stored\n" if read.get("new") else "the note is stored already\n")


def _add_url(client: Client, url: str, given: Mapping[str, Any]) -> None:
    body = {"url": url, **given}
    try:
        job = client.json("POST", "/documents/fetch", body=body)["job"]
    except InputError as error:
        error.field = "URL" if error.field == "url" else error.field
        raise
    result = wait(client, job, SourceError)["result"]
    say("".join(f"{line}: {result['document']}\n" for line in import_lines(result, url)))


def _add_mailbox(client: Client, url: str) -> None:
    """Read a mailbox on a server. A password that the server refuses is not kept."""
    from mem_search.sources.mail.accounts import Account, keep_password, password_of

    account = Account.parse(url)
    known, given = password_of(account), os.environ.get(_FROM_ENVIRONMENT, "")
    password = given or known or _asked(account.name)
    keep_password(account, password)
    try:
        _add_place(client, account.url)
    except MemSearchError:
        if password != known:
            keep_password(account, known)
        raise


def _asked(name: str) -> str:
    if not sys.stdin.isatty():
        raise InputError(
            f"no password is kept for {name}; set {_FROM_ENVIRONMENT}, or run this in a terminal"
        )
    if not (password := getpass.getpass(f"Password of {name} (it is kept in the home): ")):
        raise InputError("the password is empty")
    return password


def _note_in(words: list[str]) -> str | None:
    """The note that the arguments are; None when they name files. Raises InputError."""
    if len(words) == 1 and not words[0].strip():
        return ""  # Path("") would be this folder
    missing = [word for word in words if not _exists(word)]
    if not missing:
        return None
    if _OF_PATH.match(missing[0]):
        raise InputError(f"{missing[0]} does not exist; a note that begins so is sent by - instead")
    if len(words) == 1 and _OF_TEXT.search(words[0].strip()):
        return words[0]
    raise InputError(
        f"{missing[0] or repr('')} does not exist; a note is one argument in quotes: "
        'mem-search add "buy oil for the lamp"'
    )


def _exists(word: str) -> bool:
    try:
        return bool(word.strip()) and Path(expanded(word)).exists()
    except (OSError, ValueError):  # too long for a path
        return False


def _add_path(client: Client, path: str) -> None:
    try:
        _add_place(client, path)
    except Forbidden:  # the worker opens no files for a user, who sends them
        _send_file(client, Path(path))


def _add_place(client: Client, path: str) -> None:
    job = client.json("POST", "/api/sync", body={"path": path})["job"]
    result = wait(client, job, SourceError)["result"]
    say("".join(f"{line}\n" for line in import_lines(result)))
    _tell_unread(client, path)


def _tell_unread(client: Client, path: str) -> None:
    """What of a place is not stored, and what would make it readable."""
    failed = _entries(client, path, "failed")
    for entry in failed[:_SHOWN]:
        note(f"mem-search: {entry['item']}: {entry['reason']}")
    more = "; to see which: mem-search ledger --outcome"
    if len(failed) > _SHOWN:
        note(f"mem-search: {len(failed) - _SHOWN} more could not be read{more} failed")
    steps = (
        entry["reason"].partition("; to read it, ")[2] for entry in _entries(client, path, "left")
    )
    for step, files in Counter(filter(None, steps)).items():
        note(f"mem-search: {counted(files, 'file')} left out{more} left; to read them, {step}")


def _send_file(client: Client, path: Path) -> None:
    """Upload a file; its path is its identity, so that it replaces what was sent from there."""
    if path.is_dir():
        raise InputError(
            "only the owner of the worker adds a folder; send its files: mem-search add"
            f" {quote(str(path))}/*"
        )
    boundary = uuid.uuid4().hex
    fields = {"source_id": str(path), "name": path.name, "replace": "true"}
    try:
        with open_regular_file(path) as file:
            body = _form(fields, file, boundary)
            kind = f"multipart/form-data; boundary={boundary}"
            job = client.upload("/documents/upload", body, content=kind)["job"]
    except OSError as error:
        raise SourceError(f"cannot send {path}: {error.strerror or error}") from error
    result = wait(client, job, SourceError)["result"]
    say("".join(f"{line}\n" for line in import_lines(result, str(path))))


def _form(fields: Mapping[str, str], file: IO[bytes], boundary: str) -> Iterator[bytes]:
    """A form with ``fields`` and a file, in pieces (RFC 7578)."""
    head = f"--{boundary}\r\nContent-Disposition: form-data; name="
    for name, value in fields.items():
        yield f'{head}"{name}"\r\n\r\n{value}\r\n'.encode("utf-8", "replace")
    yield f'{head}"file"; filename="file"\r\n\r\n'.encode()
    yield from iter(lambda: file.read(2**16), b"")
    yield f"\r\n--{boundary}--\r\n".encode()


def _entries(client: Client, path: str, outcome: str) -> list[dict[str, Any]]:
    """The newest entries of the ledger about the place at ``path``."""
    pairs = [("item", path), ("outcome", outcome), ("limit", "500")]
    entries = client.json("GET", "/api/ledger", pairs)["entries"]
    return [entry for entry in entries if entry["location"] == path]
