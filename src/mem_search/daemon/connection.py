"""Where the worker of a home answers, the token for it, and proved connections to it.

Every command needs this first. It imports only what the interpreter has loaded anyway, because
every search from the command line runs it: so bare sockets, of which the standard HTTP client takes
as long to import as the interpreter takes to start. The lock decides whether a worker lives: a
``worker.json`` whose lock is free was left behind by a worker that was killed. A connection is
proved before anything is sent, and never waited on for ever.
"""

import _socket
import fcntl
import os
import time

from mem_search import __version__
from mem_search.access.proof import CHALLENGE, PROOF, proof
from mem_search.daemon import elsewhere
from mem_search.platform import scale_timeout

# Importing pathlib takes as long as starting the interpreter:
# ruff: noqa: PTH111, PTH113, PTH118, PTH123


STATE = "worker.json"
_URL, _KEY, _VERSION = '"url": "http://', '"key": "', '"version": "'
_BEFORE_RELEASE = ("a", "b", "rc")


def home_of(setting: str | None) -> str:
    """The home for a value of ``MEM_SEARCH_HOME``, as ``Settings.read`` finds it."""
    return os.path.realpath(os.path.expanduser(setting or "~/.mem-search"))


def is_locked(home: str) -> bool:
    """Whether a worker of this home is running: it holds the lock of the directory.

    The check takes a shared lock for an instant; ``lock.worker_lock`` allows for that.
    """
    try:
        handle = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def address(home: str) -> tuple[str, int, str] | None:
    """(host, port, key) of the worker of this home; None while none answers."""
    if not is_locked(home):
        return None
    text = _state(home)
    host, _, port = _value(text, _URL).rpartition(":")
    return (host.strip("[]"), int(port), _value(text, _KEY)) if port.isdigit() else None


def token_of(home: str) -> str:
    """The token to send: of the environment, else of ``config.toml``, else of the file ``token``.

    Empty without one. A token can be renewed at any time: whoever lives long asks again.
    """
    return os.environ.get("MEM_SEARCH_TOKEN") or _set_in_file(home) or _text(home, "token").strip()


def _set_in_file(home: str) -> str:
    text = _text(home, "config.toml")
    if "token" not in text:
        return ""
    import tomllib  # imported only when the file may have a token

    try:
        return str(tomllib.loads(text).get("token") or "")
    except tomllib.TOMLDecodeError:
        return ""  # whoever reads the settings tells what is wrong


def _text(home: str, name: str) -> str:
    """The text of a file of the home; empty for what cannot be read."""
    place = os.path.join(home, name)
    if not os.path.isfile(place):  # opening a pipe would wait
        return ""
    try:
        with open(place, encoding="utf-8-sig") as file:  # some editors begin it with a BOM
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def headers(home: str) -> dict[str, str]:
    """The headers of every request of the command line and the MCP relay: who asks, and where.

    A zone in ``MEM_SEARCH_TIMEZONE`` counts before the worker's own, that of the terminal after it.
    """
    fields = {"User-Agent": "mem-search"}
    if token := token_of(home):
        fields["Authorization"] = f"Bearer {token}"
    if share := os.environ.get("MEM_SEARCH_SHARE", ""):
        fields["X-Mem-Search-Share"] = share
    if (chosen := os.environ.get("MEM_SEARCH_TIMEZONE", "")) and _is_zone(chosen):
        fields["X-Timezone"] = chosen
    elif terminal := _terminal_zone():
        fields["X-Terminal-Timezone"] = terminal
    return fields


def _terminal_zone() -> str:
    """The IANA name of the terminal's time zone; empty where it has no such name."""
    name = os.environ.get("TZ", "").lstrip(":")
    if not name:
        try:
            link = os.readlink("/etc/localtime")  # noqa: PTH115  pathlib takes long to import
        except OSError:
            return ""
        name = link.partition("zoneinfo/")[2]
    # A POSIX rule such as CET-1CEST is no IANA name.
    return name if _is_zone(name) and (name == "UTC" or "/" in name) else ""


def _is_zone(name: str) -> bool:
    plain = name.isascii() and all(sign.isalnum() or sign in "/_+-" for sign in name)
    return name[:1].isalpha() and plain


def is_outdated(home: str) -> bool:
    """Whether ``worker.json`` names a version older than this program's."""
    return is_older(_value(_state(home), _VERSION), __version__)


def is_older(version: str, than: str) -> bool:
    """Whether one version precedes another; False for what is no version, such as ``1.2-x``."""
    first, second = _rank(version), _rank(than)
    return bool(first and second and first < second)


def _rank(version: str) -> tuple[int, ...]:
    """Sorts 1.2.0a1 before 1.2.0rc1 before 1.2.0; empty for anything else."""
    base, stage, number = version, len(_BEFORE_RELEASE), "0"
    for place, sign in enumerate(_BEFORE_RELEASE):
        if sign in version:
            base, _, number = version.partition(sign)
            stage = place
            break
    parts = [*base.split("."), number]
    if not all(part.isascii() and part.isdigit() for part in parts):
        return ()
    return (*map(int, parts[:-1]), stage, int(number))


def _state(home: str) -> str:
    """The text of ``worker.json``; empty while there is none."""
    if text := elsewhere.read(home):
        return text
    place = os.path.join(home, STATE)
    if not os.path.isfile(place):  # opening a pipe would wait
        return ""
    try:
        with open(place, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # it is starting or stopping


def _value(text: str, mark: str) -> str:
    return text.partition(mark)[2].partition('"')[0]


NO_ANSWER_SECONDS = 3.5
"""A worker answers ``/health`` at once, also while it works; one that takes this long hangs, unless
others keep the processors busy (``patience``).
"""

_MAX_PATIENCE_SECONDS = 60.0

LOOK_SECONDS = 1.0
"""An answer that takes longer lets the caller look whether the worker is alive."""

_MAX_HEAD_BYTES = 1 << 16

Place = tuple[str, int, str]
"""Host, port and key of a worker."""


class NoAnswer(Exception):
    """The worker accepts connections and does not answer: it is stopped, or it hangs."""


class Unproved(Exception):
    """What listens there is not, or not provably, the worker of this home."""


def patience() -> float:
    """Seconds after which a worker that does not answer hangs."""
    return scale_timeout(NO_ANSWER_SECONDS, most=_MAX_PATIENCE_SECONDS)


def connect(place: Place, seconds: float = 0) -> _socket.socket:
    """A connection to the worker, kept alive after its proof, which may take ``seconds`` (0: the
    patience of a command).

    Raises NoAnswer, Unproved, or OSError where nothing listens.
    """
    host, port, key = place
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        _check(connection, host, port, key, seconds or patience())
    except TimeoutError:
        connection.close()
        raise NoAnswer from None
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _check(connection: _socket.socket, host: str, port: int, key: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    connection.settimeout(seconds)
    connection.connect((host, port))
    challenge = os.urandom(16).hex()
    connection.sendall(
        f"HEAD /health HTTP/1.1\r\nHost: {url_host(host)}:{port}\r\n"
        f"{CHALLENGE}: {challenge}\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(4096)
        head += piece
        if not head:  # a worker that ends closes what it accepted, and nothing listens then
            raise ConnectionResetError
        if not piece or len(head) > _MAX_HEAD_BYTES:
            raise Unproved
    expected = f"\r\n{PROOF}: {proof(key, challenge, port)}\r\n".lower().encode()
    if not key or expected not in head.lower():
        raise Unproved


def url_host(host: str) -> str:
    """``host`` as URLs write it."""
    return f"[{host}]" if ":" in host else host


def is_alive(place: Place, seconds: float = 0) -> bool:
    """Whether the worker answers in time, as ``connect`` does. False also when it has ended."""
    try:
        connect(place, seconds).close()
    except (OSError, NoAnswer, Unproved):
        return False
    return True
