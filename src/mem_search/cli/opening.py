"""``mem-search open``: the original of a record, in the program that a person has for it.

Text that was stored decides nothing here. A program gets its arguments as a list; an address has a
scheme of ``_SCHEMES``; a path lies in a place that the record's own source has read, is absolute,
so that it is no option, and is a file whose format no program runs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

import typer

from mem_search.agents.known import of_session
from mem_search.cli.client import Client, open_client
from mem_search.cli.options import URL
from mem_search.cli.output import note, write
from mem_search.cli.records import Ref, id_in_url
from mem_search.errors import InputError, NotFound
from mem_search.patterns import pattern
from mem_search.platform import IS_MACOS, spelled
from mem_search.regular_file import open_regular_file
from mem_search.text import urls

_SCHEMES: Final = ("http", "https")
"""Of addresses that records bring; those of ``mid`` and ``obsidian`` are ours (``text.urls``)."""
_SESSION: Final = pattern(r"[A-Za-z0-9][\w.:-]*")
"""What can be an option of the agent is no session."""
_COMMIT: Final = pattern(r"[0-9a-f]{7,64}")
_MAX_MAILS: Final = 20_000
"""Files that are looked at for a message: about two seconds."""
_MAX_HEADER_BYTES: Final = 65_536
_MESSAGE_ID_LINE: Final = pattern(rb"(?im)^message-id:\s{0,4}(<[^<>\n]{1,900}>)")
_SHOWN: Final = frozenset(
    ".pdf .docx .pptx .xlsx .xls .ods .odt .odp .epub .doc .ppt .rtf .eml .png .jpg .jpeg .gif .tif"
    " .tiff .bmp .webp .heic".split()
)
"""Formats that the program of the desktop shows; every other file is for the editor."""


@dataclass(frozen=True, slots=True)
class Original:
    """What is opened: an ``address``, or ``command`` in the ``folder``."""

    address: str = ""
    command: tuple[str, ...] = ()
    folder: str = ""

    def __str__(self) -> str:
        said = self.address or shlex.join(self.command)
        return f"cd {shlex.quote(self.folder)} && {said}" if self.folder else said


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("open")(open_original)
    app.command()(resume)


def open_original(
    ref: Ref,
    show: Annotated[
        bool, typer.Option("--print", help="Print what would be opened, and open nothing.")
    ] = False,
) -> None:
    """Open the original: a file in the editor or its program, a note in Obsidian, a page in the
    browser, a mail in the mail program, a commit in git, a session in its agent.

    What has no original on this machine is shown in the viewer. The editor is VISUAL or EDITOR.
    """
    client = open_client()
    record = client.json("GET", f"/api/records/{id_in_url(ref)}")
    original = original_of(client, record)
    if show:
        write(f"{original}\n")
    elif original.address:
        _open_address(original.address)
    else:
        _run(original)


def resume(ref: Ref) -> None:
    """Print the command that opens the session of a record again in its agent."""
    client = open_client()
    record = client.json("GET", f"/api/records/{id_in_url(ref)}")
    command = _session_of(client, record)
    if command is None:
        known = of_session(record["source"], str(record["metadata"].get("platform", "")))
        what = "it names none" if known else f"it is from {record['source']}"
        raise NotFound(f"{record['ref']} belongs to no session of an agent: {what}", field="ref")
    write(f"{command}\n")


def original_of(client: Client, record: Mapping[str, Any]) -> Original:
    """What to open for ``record``. Raises NotFound where its file is gone."""
    metadata = record["metadata"]
    if file := _file_of(client, record):
        return _of_file(*file)
    if _is_web(record["url"]):
        return Original(record["url"])
    if record["kind"] == "email" and (said := urls.message_id(str(metadata.get("message_id", "")))):
        letter = None if IS_MACOS else _mail_file(_places(client, record["source"]), said)
        return Original(letter.as_uri() if letter else urls.of_message(said))
    commit = str(metadata.get("commit", ""))
    if record["source"] == "git" and _COMMIT.fullmatch(commit):
        for folder in _places(client, "git"):
            if folder.name == record["project"].partition(" (")[0] and folder.is_dir():
                command = ("git", "-C", str(folder), "show", "--stat", "--patch", commit)
                return Original(command=command)
    return _session_of(client, record) or Original(_page_of(client, record["ref"]))


def _file_of(client: Client, record: Mapping[str, Any]) -> tuple[Path, Path] | None:
    """The file that a record was read from, and the place that its source was given.

    Raises NotFound for a file that is gone, or that lies elsewhere.
    """
    said = record["metadata"].get("path") or record.get("source_id", "")
    if not isinstance(said, str) or not os.path.isabs(said) or "\0" in said:  # noqa: PTH117
        return None
    places = _places(client, record["source"])
    if not places:
        return None
    file = Path(spelled(said))
    place = next((each for each in places if file.is_relative_to(spelled(each))), None)
    if place is None:
        raise NotFound(
            f"{said} is in no folder that {record['source']} reads, so it is not opened;"
            f" its text: mem-search get {record['ref']}",
            field="ref",
        )
    if not file.is_file():
        raise NotFound(
            f"{said} is gone; its text is stored: mem-search get {record['ref']}", field="ref"
        )
    return file, Path(spelled(place))


def _places(client: Client, source: str) -> list[Path]:
    read = client.json("GET", "/api/stats")["sources"]
    return [
        Path(each["path"])
        for each in read
        if each["source"] == source and os.path.isabs(each["path"])  # noqa: PTH117
    ]


def _mail_file(places: Sequence[Path], message_id: str) -> Path | None:
    """The file of one message, in what a source was given; None where no file has it alone. Few
    desktops but macOS have a program for ``mid`` addresses, and all have one for a mail.
    """
    wanted = f"<{message_id}>".encode()
    files = (each for place in places for each in ([place] if place.is_file() else _mails(place)))
    return next((file for file in islice(files, _MAX_MAILS) if _is_mail(file, wanted)), None)


def _is_mail(file: Path, message_id: bytes) -> bool:
    """Whether ``file`` is this one message, and no mailbox."""
    try:
        with open_regular_file(file, follow=False) as opened:
            head = opened.read(_MAX_HEADER_BYTES).replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    except OSError:
        return False  # it is gone, or is no file that a mail program opens
    named = _MESSAGE_ID_LINE.search(head)
    return named is not None and named[1] == message_id and not head.startswith(b"From ")


def _mails(place: Path) -> Iterator[Path]:
    """Files below ``place`` that have one message each; no link is followed."""
    for folder, _, names in os.walk(place):
        is_maildir = Path(folder).name in ("cur", "new")
        yield from (
            Path(folder, name) for name in sorted(names) if is_maildir or name.endswith(".eml")
        )


def _of_file(file: Path, place: Path) -> Original:
    """How a file is opened: by Obsidian in a vault of it, by its program, else in the editor."""
    folders = (each for each in file.parents if each == place or each.is_relative_to(place))
    if file.suffix.lower() == ".md" and any((each / ".obsidian").is_dir() for each in folders):
        return Original(urls.of_note(str(file)))
    if file.suffix.lower() in _SHOWN:
        return Original(file.as_uri())
    return Original(command=(*_editor(), str(file)))


def _editor() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        raise InputError(
            f"cannot read {named!r}; write the name of a program", field="EDITOR"
        ) from None
    if words:
        return words
    editor = next((each for each in ("nano", "vim", "vi") if shutil.which(each)), None)
    if editor is None:
        raise InputError("names no program; export EDITOR=vi, for example", field="EDITOR")
    return [editor]


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    plain = address.isprintable() and not any(map(str.isspace, address))
    return plain and bool(URL.match(address)) and parts.scheme in _SCHEMES and bool(parts.hostname)


def _session_of(client: Client, record: Mapping[str, Any]) -> Original | None:
    agent = of_session(record["source"], str(record["metadata"].get("platform", "")))
    if agent is None or not _SESSION.fullmatch(record["session"]):
        return None
    command = [word.format(session=record["session"]) for word in shlex.split(agent.resume)]
    return Original(command=tuple(command), folder=_folder(client, record))


def _folder(client: Client, record: Mapping[str, Any]) -> str:
    """The folder in which the session of a record began; "" if no prompt of it says so."""
    if folder := record["metadata"].get("cwd"):
        return str(folder)
    pairs = [("session", record["session"]), ("limit", "1"), ("orderBy", "date_asc")]
    prompts = client.json("GET", "/api/search/prompts", [*pairs, ("format", "json")])
    return next((str(each["metadata"].get("cwd", "")) for each in prompts["results"]), "")


def _page_of(client: Client, ref: str) -> str:
    """A link into the viewer that logs the browser in."""
    answer = client.json("POST", "/api/viewer/links")
    return f"{answer['url']}/record/{quote(ref, safe='')}"


def _open_address(address: str) -> None:
    """Show ``address`` in the program of the desktop for it."""
    if address.startswith(("http://", "https://")) and webbrowser.open(address):
        note("opened in your browser")
        return
    opener = "open" if IS_MACOS else "xdg-open"
    program = shutil.which(opener)
    if program is None or _called([program, address]):
        note(f"mem-search: no program of this machine opens {address.partition(':')[0]} addresses:")
        write(f"{address}\n")


def _run(original: Original) -> None:
    """Run the command in place of this program, in its folder. Raises NotFound."""
    program = shutil.which(original.command[0])
    if program is None:
        raise NotFound(f"there is no program {original.command[0]}; it would run: {original}")
    if original.folder:
        try:
            os.chdir(original.folder)
        except OSError as error:
            raise NotFound(f"cannot enter {original.folder}: {error.strerror}") from None
    if code := _called([program, *original.command[1:]]):
        raise typer.Exit(code)


def _called(command: Sequence[str]) -> int:
    """The exit code of a program that has this terminal."""
    return subprocess.run(command, check=False).returncode  # noqa: S603  no shell reads it
