"""Mail on a server, over IMAP (RFC 3501): folder by folder, from the message read last.

The server is only read: folders are opened with EXAMINE, messages with BODY.PEEK, so that nothing
is marked as seen. A folder's cursor is its UIDVALIDITY and the last UID; with another UIDVALIDITY
all UIDs are new, and the folder is read again. The standard library speaks the protocol
(``imaplib``); here its answers are read, and limited in size.
"""

from __future__ import annotations

import base64
import imaplib
import re
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Final

from mem_search.errors import SourceError
from mem_search.model import Batch, Location
from mem_search.patterns import pattern
from mem_search.sources.base import BatchBuilder
from mem_search.sources.mail.accounts import Account, password_of
from mem_search.sources.mail.holdings import Holdings
from mem_search.sources.mail.intake import Intake
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES, TOO_LARGE, Mail, read_message
from mem_search.text.shortening import cut

SECONDS: Final = 30.0
"""The time that a server has for each answer."""

_AT_ONCE: Final = 50
_BYTES_AT_ONCE: Final = 8 * 2**20
"""Messages, and bytes of them, of one request: few requests, and little memory."""

_NAMED: Final = 20
"""Folders that a message names."""

_LEFT_OUT: Final = frozenset({"\\noselect", "\\nonexistent", "\\trash", "\\junk", "\\drafts"})
"""Attributes of folders that are not read, unless a person names them (RFC 6154)."""

_LEFT_OUT_NAMES: Final = frozenset(
    "trash junk spam drafts deleted papierkorb entwürfe corbeille brouillons papelera borradores"
    " cestino bozze".split()
) | {"deleted items", "deleted messages", "junk e-mail", "bulk mail"}
"""Names of such folders on servers that send no attributes."""

_LISTED: Final = pattern(
    rb'\((?P<flags>[^()]{0,500})\) (?:NIL|"(?P<separator>\\?.)") (?P<name>.*)\Z', re.DOTALL
)
_UID: Final = pattern(rb"\bUID (\d{1,10})\b")
_SIZE: Final = pattern(rb"\bRFC822\.SIZE (\d{1,15})\b")


class _Limited(imaplib.IMAP4):
    """A connection on which the server cannot send more than a message has."""

    def read(self, size: int) -> bytes:
        if size > MAX_MESSAGE_BYTES + 2**20:
            raise self.abort(f"the server sends {size:,} bytes at once")
        return super().read(size)


class _LimitedTls(_Limited, imaplib.IMAP4_SSL):
    """The same with TLS from the first byte."""


def read(location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
    """Messages that are new; nothing when none are. Progress is in messages.

    Raises SourceError when there is no password, or the server cannot be reached or read.
    """
    account = Account.parse(location.path)
    password = password_of(account)
    if not password:
        raise SourceError(
            f"no password is kept for {account.name}; to give it: mem-search add {account.url}"
        )
    with _told(account), _connected(account, password) as connection:
        yield from _Reading(connection, account, cursor).batches()


@contextmanager
def _told(account: Account) -> Iterator[None]:
    """Errors of the network and the protocol as SourceError; none of them has the password."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        reason = f"its certificate is not valid: {error.verify_message}"
    except TimeoutError:
        reason = f"it did not answer within {SECONDS:g} seconds"
    except (OSError, imaplib.IMAP4.error) as error:
        reason = _shown(str(error) or type(error).__name__)
    else:
        return
    raise SourceError(f"cannot read the mail of {account.name}: {reason}")


@contextmanager
def _connected(account: Account, password: str) -> Iterator[imaplib.IMAP4]:
    connection: imaplib.IMAP4
    if account.security == "tls":
        context = ssl.create_default_context()
        connection = _LimitedTls(account.host, account.port, ssl_context=context, timeout=SECONDS)
    else:
        connection = _Limited(account.host, account.port, timeout=SECONDS)
    try:
        if account.security == "starttls":
            if "STARTTLS" not in connection.capabilities:
                raise connection.error("it offers no encryption, without which nothing is sent")
            connection.starttls(ssl.create_default_context())
        _log_in(connection, account, password)
        yield connection
    finally:
        try:
            connection.logout()
        except (OSError, imaplib.IMAP4.error):
            connection.shutdown()


def _log_in(connection: imaplib.IMAP4, account: Account, password: str) -> None:
    said = f"\0{account.user}\0{password}".encode()
    try:
        if "AUTH=PLAIN" in connection.capabilities:
            connection.authenticate("PLAIN", lambda _: said)
        else:
            connection.login(account.user, password)
    except connection.abort:
        raise
    except (connection.error, UnicodeEncodeError):
        raise SourceError(
            f"{account.host} refuses the password of {account.user}; many providers want one for"
            f" programs (“app password”); to give another: mem-search add {account.url}"
        ) from None


class _Reading:
    """One reading of the folders of an account."""

    def __init__(
        self, connection: imaplib.IMAP4, account: Account, cursor: Mapping[str, Any]
    ) -> None:
        self._connection = connection
        self._account = account
        self._cursor = cursor
        self._places: dict[str, dict[str, int]] = dict(cursor.get("folders", {}))
        self._held = Holdings(cursor)
        self._batch = BatchBuilder()
        self._intake = Intake(self._batch)
        self._done = 0

    def batches(self) -> Iterator[Batch]:
        with closing(self._intake):
            for folder in [self._account.folder] if self._account.folder else self._folders():
                yield from self._read(folder)
        if self._batch or self._state() != self._cursor:
            yield self._batch.build(self._state(), self._done)

    def _state(self) -> dict[str, Any]:
        return {"folders": dict(self._places), **self._held.stored()}

    def _folders(self) -> list[str]:
        """All folders that a person has mail in; where one folder has all mail, only that one."""
        folders: list[str] = []
        for line in _checked(self._connection.list()):
            head, literal = line if isinstance(line, tuple) else (line, None)
            listed = _LISTED.match(head or b"")
            if listed is None:
                continue
            name = listed["name"] if literal is None else literal
            if literal is None and name.startswith(b'"'):
                name = re.sub(rb"\\(.)", rb"\1", name.strip()[1:-1])
            shown = decoded_name(name)
            flags = {flag.lower() for flag in listed["flags"].decode("ascii", "replace").split()}
            if "\\all" in flags:
                return [shown]
            separator = (listed["separator"] or b"/")[-1:].decode("ascii", "replace")
            last = shown.rpartition(separator)[2].lower()
            if not flags & _LEFT_OUT and last not in _LEFT_OUT_NAMES and shown.isprintable():
                folders.append(shown)
        return sorted(folders, key=lambda name: (name.upper() != "INBOX", name))

    def _read(self, folder: str) -> Iterator[Batch]:
        connection = self._connection
        encoded = encoded_name(folder).replace("\\", "\\\\").replace('"', '\\"')
        state, said = connection.select(f'"{encoded}"', readonly=True)
        if state != "OK":
            reason = _shown(b" ".join(each for each in said if isinstance(each, bytes)).decode())
            if self._account.folder:
                has = ", ".join(self._folders()[:_NAMED])
                raise SourceError(
                    f"{self._account.name} has no folder {folder!r} that can be read ({reason});"
                    f" it has {has or 'none'}"
                )
            self._batch.fail(folder, f"the folder cannot be read: {reason}")
            return
        validity = _number(connection.response("UIDVALIDITY"))
        place = self._places.get(folder, {})
        last = place.get("uid", 0) if place.get("validity") == validity else 0
        if not last:
            self._batch.outdate(folder)
            self._held.empty_box(folder)
        following = _number(connection.response("UIDNEXT"))
        sizes = self._sizes(last + 1) if not following or following > last + 1 else {}
        self._batch.total += len(sizes)
        for group in _groups(sizes):
            fetched = self._fetch([uid for uid in group if sizes[uid] <= MAX_MESSAGE_BYTES])
            messages = (
                (uid, f"{folder}:{uid}", _reader(sizes[uid], fetched.get(uid))) for uid in group
            )
            first, count = group[0], 0
            for uid, taken in self._intake.in_turn(messages):
                count += taken.records
                self._intake.note_unread(f"{folder}:{uid}", taken)
                self._held.add_to_box(taken.held, folder)
                self._done += 1
                self._places[folder] = {"validity": validity, "uid": uid}
                if self._batch.is_full:
                    self._intake.note_span(folder, first, uid, count)
                    first, count = uid + 1, 0
                    yield self._batch.build(self._state(), self._done)
            self._intake.note_span(folder, first, group[-1], count)
        self._places.setdefault(folder, {"validity": validity, "uid": 0})
        if not last and not sizes:
            self._places[folder] = {"validity": validity, "uid": 0}

    def _sizes(self, first: int) -> dict[int, int]:
        """UID → bytes of the messages from ``first`` on, in the order of the UIDs."""
        sizes = {}
        for head, _ in self._fetched(f"{first}:*", "(UID RFC822.SIZE)"):
            uid, size = _UID.search(head), _SIZE.search(head)
            if uid and int(uid[1]) >= first:  # of an empty range a server sends the last message
                sizes[int(uid[1])] = int(size[1]) if size else 0
        return dict(sorted(sizes.items()))

    def _fetch(self, uids: Sequence[int]) -> dict[int, bytes]:
        """UID → message. Nothing is marked as seen."""
        answers = self._fetched(",".join(map(str, uids)), "(UID BODY.PEEK[])") if uids else ()
        return {
            int(uid[1]): data
            for head, data in answers
            if data is not None and (uid := _UID.search(head))
        }

    def _fetched(self, uids: str, items: str) -> Iterator[tuple[bytes, bytes | None]]:
        """For each message what stands around its literal, and the literal."""
        head, data = b"", None
        for piece in _checked(self._connection.uid("FETCH", uids, items)):
            if isinstance(piece, tuple):
                head, data = piece[0], piece[1]
            elif isinstance(piece, bytes):
                yield head + b" " + piece, data  # the UID may follow the message
                head, data = b"", None


def _reader(size: int, data: bytes | None) -> Callable[[], Mail] | None:
    """What reads a message of ``size`` bytes; None for one that was deleted just now."""
    return None if data is None and size <= MAX_MESSAGE_BYTES else partial(_parsed, data)


def _parsed(data: bytes | None) -> Mail:
    if data is None:
        raise ValueError(TOO_LARGE)
    return read_message(data.lstrip(b"\r\n"))


def _groups(sizes: Mapping[int, int]) -> Iterator[list[int]]:
    """The UIDs in groups that are fetched at once."""
    group: list[int] = []
    size = 0
    for uid, message_size in sizes.items():
        if group and (size + message_size > _BYTES_AT_ONCE or len(group) == _AT_ONCE):
            yield group
            group, size = [], 0
        group.append(uid)
        size += message_size
    if group:
        yield group


def _checked(answer: tuple[str, list[Any]]) -> list[Any]:
    state, said = answer
    if state != "OK":
        raise imaplib.IMAP4.error(" ".join(str(each) for each in said))
    return said


def _number(answer: tuple[str, list[Any]]) -> int:
    said = answer[1][-1] if answer[1] else None
    return int(said) if isinstance(said, bytes) and said.isdigit() else 0


def _shown(text: str) -> str:
    """What a server says, on one printable line."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return cut(line, 300)


def encoded_name(name: str) -> str:
    """A folder's name in the modified UTF-7 of IMAP (RFC 3501, 5.1.3)."""
    done: list[str] = []
    for ascii_part, other in re.findall(r"([ -~]+)|([^ -~]+)", name):
        if ascii_part:
            done.append(ascii_part.replace("&", "&-"))
        else:
            coded = base64.b64encode(other.encode("utf-16-be", "surrogatepass"))
            done.append(f"&{coded.decode().rstrip('=').replace('/', ',')}-")
    return "".join(done)


def decoded_name(name: bytes) -> str:
    """The name that ``encoded_name`` has coded; what is not coded so is read as UTF-8."""

    def word(match: re.Match[str]) -> str:
        coded = match[1].replace(",", "/")
        if not coded:
            return "&"
        try:
            data = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True)
            return data.decode("utf-16-be")
        except ValueError:
            return match[0]

    return re.sub(r"&([^-&]{0,2000})-", word, name.decode("utf-8", "replace"))
