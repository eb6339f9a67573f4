"""Plain searches without the framework: most calls, and the ones that people wait for.

The worker runs without it, too: it would keep all commands in memory. ``run`` returns None for
everything else: help, completion, unusual arguments, no running worker, one of an older version,
any status but 200. The framework then starts over, which is harmless because a search changes
nothing. It uses bare sockets: JSON, paths and the standard HTTP client each take as long to import
as the interpreter takes to start.
"""

from __future__ import annotations

# Importing pathlib takes as long as starting the interpreter:
import os

from mem_search.cli.meant import SEARCH, is_question
from mem_search.cli.output import screen, show_listing, write
from mem_search.cli.search_options import (
    NO_START,
    NOTHING,
    NOTHING_FOUND,
    REF,
    Command,
    Option,
    built_in,
    exported,
)
from mem_search.daemon.connection import (
    LOOK_SECONDS,
    NoAnswer,
    Place,
    Unproved,
    address,
    connect,
    headers,
    home_of,
    is_alive,
    is_outdated,
    url_host,
)
from mem_search.text.control_characters import PLAIN

TYPE_CHECKING = False  # importing typing takes long
if TYPE_CHECKING:
    from _socket import socket as _socket

    from mem_search.settings import Settings

RULE = "\n---\n\n"
"""Between two opened records."""

BACKGROUND = "--background"
"""What ``worker start`` gives ``worker run``: its output goes to a file."""

COMPLETING = "_MEM_SEARCH_COMPLETE"
"""The variable with which a shell asks for completions, as the framework's scripts set it."""

_SPARING = {
    "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "MALLOC_ARENA_MAX": "2"
}  # fmt: skip
_M_ARENA_MAX = -8  # mallopt(3)

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def run(argv: list[str]) -> int | None:
    """Run ``argv``; the exit code, or None when the framework has to do it."""
    if argv == ["--version"]:
        from mem_search import __version__

        write(f"mem-search {__version__}\n")
        return 0
    if argv == ["mcp"]:
        from mem_search.cli.mcp_relay import main as relay

        return relay()
    if argv in (["worker", "run"], ["worker", "run", BACKGROUND]):
        from mem_search.cli.client import report
        from mem_search.cli.output import guard
        from mem_search.errors import MemSearchError
        from mem_search.settings import Settings

        guard()
        try:
            work(Settings.read(), background=BACKGROUND in argv)
        except MemSearchError as error:
            return report(error)
        return 0
    if COMPLETING in os.environ or not argv or os.environ.get("MEM_SEARCH_URL"):
        return None
    # A first word with a blank in it is no command, but a question in quotes.
    name, rest = (SEARCH, argv) if " " in argv[0] or is_question(argv) else (argv[0], argv[1:])
    command = built_in(name)
    pairs = read_arguments(command, rest) if command else None
    if command is None or pairs is None or exported(pairs) or not command.takes(pairs):
        return None
    home = home_of(os.environ.get("MEM_SEARCH_HOME"))
    place, sent = address(home), headers(home)
    if place is None or is_outdated(home) or not _are_plain(sent):
        return None
    as_json = ("format", "json") in pairs
    sent["Accept"] = "application/json" if as_json else "text/plain"
    if shown := screen(preview=name == "preview", details=("meta", "true") in pairs):
        sent["X-Terminal"] = shown
    bodies: list[bytes] = []
    try:
        for target in targets_of(command, pairs):
            if (body := _get(place, target, sent)) is None:
                return None
            bodies.append(body)
    except NoAnswer:
        from mem_search.cli.client import report
        from mem_search.daemon.control import is_starting, no_answer
        from mem_search.settings import Settings

        settings = Settings.read()
        return None if is_starting(settings) else report(no_answer(settings))
    for number, body in enumerate(bodies):
        if number and not as_json:
            write(RULE)
        show_listing(body, as_json=as_json)
    return 1 if any(is_empty(body, as_json=as_json) for body in bodies) else 0


def work(settings: Settings, *, background: bool) -> None:
    """Be the worker until a signal. Raises what ``daemon.run.run`` raises, and StorageError."""
    import gc

    _spare_memory()
    gc.disable()  # a thousand modules leave nothing to collect; ``_serve`` enables it again
    from mem_search.cli.output import note
    from mem_search.daemon import logs
    from mem_search.daemon.run import run as run_worker

    if background:
        logs.keep_output_redacted(settings)
    else:
        note(f"mem-search: worker of {settings.home}; Ctrl-C stops it")
    run_worker(settings, echo=not background)


def _spare_memory() -> None:
    """What libraries read when they are imported, and the processes that the worker starts.

    One thread for products of matrices and for the tokenizer: further ones wait in a loop for the
    next call. Two heaps of the C library, not eight for each processor: each keeps what was freed.
    """
    from mem_search.platform.memory import set_malloc

    for name, value in _SPARING.items():
        os.environ.setdefault(name, value)
    set_malloc(_M_ARENA_MAX, int(_SPARING["MALLOC_ARENA_MAX"]))


def read_arguments(command: Command, argv: list[str]) -> list[tuple[str, str]] | None:
    """The parameters of a search; None for arguments that only the framework can parse."""
    words: list[str] = []
    options: list[tuple[Option, str]] = []
    rest = iter(argv)
    for argument in rest:
        if argument == NO_START:
            continue  # without a worker the framework runs, and reads this
        if not argument.startswith("-"):
            words.append(argument)
            continue
        flag, equals, value = argument.partition("=")
        option = next((each for each in command.options if flag in (each.flag, each.short)), None)
        if option is None or (equals and (option.fixed or flag == option.short)):
            return None
        if option.fixed:
            value = option.fixed
        elif not equals:
            following = next(rest, None)
            if following is None:
                return None
            value = following
        options.append((option, value))
    return command.pairs(words, options)


def targets_of(command: Command, pairs: list[tuple[str, str]]) -> list[str]:
    """What to request: for a command that opens records one each."""
    refs = [word for name, word in pairs if name == REF]
    rest = [] if command.asks == NOTHING else [
        pair for pair in pairs if pair[0] not in (REF, "meta")
    ]  # fmt: skip
    if command.asks == REF:
        return [target_of(command.route.replace(REF, _quoted(ref)), rest) for ref in refs]
    return [target_of(command.route, rest)]


def target_of(route: str, pairs: list[tuple[str, str]]) -> str:
    """``/api/search?query=a%20b``."""
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
    return f"{route}?{query}" if query else route


def is_empty(body: bytes, *, as_json: bool) -> bool:
    """Whether an answer of the worker has no results."""
    if not as_json:
        return not body or body.removeprefix(PLAIN.encode()).startswith(NOTHING_FOUND.encode())
    import json

    answer = json.loads(body)
    nodes, records = answer.get("nodes"), answer.get("records")
    is_alone = isinstance(nodes, list) and len(nodes) < 2
    return bool(answer.get("total") == 0 or is_alone or records == [])


def _quoted(text: str) -> str:
    return "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace")
    )


def _are_plain(sent: dict[str, str]) -> bool:
    """Whether the headers can stand in a request as they are: a token may be anything."""
    return all(value.isascii() and value.isprintable() for value in sent.values())


def _get(place: Place, target: str, sent: dict[str, str]) -> bytes | None:
    """The body of a reply with status 200; None for anything else. Raises NoAnswer."""
    said = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    # HTTP/1.0: no chunks; the end of the connection ends the answer.
    request = f"GET {target} HTTP/1.0\r\nHost: {url_host(place[0])}:{place[1]}\r\n{said}\r\n"
    pieces: list[bytes] = []
    try:
        connection = connect(place)
    except (OSError, Unproved):
        return None
    try:
        connection.settimeout(LOOK_SECONDS)
        connection.sendall(request.encode("ascii"))
        while piece := _received(connection, place):
            pieces.append(piece)
    except OSError:
        return None
    finally:
        connection.close()
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    if status.split(" ")[1:2] != ["200"]:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "content-length" and value.strip() != str(len(body)):
            return None  # incomplete
        if name.lower() in ("transfer-encoding", "content-encoding"):
            return None
    return body


def _received(connection: _socket, place: Place) -> bytes:
    """The next piece of the answer, which may take as long as the worker is alive."""
    while True:
        try:
            return connection.recv(65536)
        except TimeoutError:
            if not is_alive(place):
                raise NoAnswer from None
