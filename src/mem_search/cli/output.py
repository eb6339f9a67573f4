"""Printing: the only module of the command line that writes to standard output and error.

Everything is printed without the characters that act on a terminal or hide text, in a pipe as
well as on a terminal: a pipe often ends in one. JSON keeps them as ``\\u001b`` and the like, so
it loses nothing. Colours are added after that. ``guard`` covers what the framework and the
interpreter print themselves: usage errors, questions, tracebacks.

The fast path loads this module, so functions import what only they need.
"""

from __future__ import annotations

import os
import sys

from mem_search.text.control_characters import (
    BOLD,
    DIM,
    HINT,
    KIND,
    MARKS,
    PLAIN,
    REF,
    WORD,
    escaped_json,
    removed,
)

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TextIO

_LINK, _LINK_END = "\x1b]8;;", "\x1b\\"
"""A URL between them begins a link, nothing between them ends it (OSC 8)."""

_BOLD, _DIM, _CYAN, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"
_COLOURS = {PLAIN: _OFF, BOLD: _BOLD, DIM: _DIM, KIND: _CYAN, WORD: "\x1b[1;33m"}

_VTE_WITH_LINKS = 5002  # 0.50.2: before it, VTE could crash on them
_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio")
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm")

_TOLD = "tips-told"
_TIPS = (
    "Tip: mem-search open {ref} opens the original",
    "Tip: get prints its text, timeline what happened before and after it",
)


class _Guarded:
    """A stream that removes control characters from what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(_fitted(removed(text), self.stream))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def guard() -> None:
    """Make standard output and error safe for whoever prints to them."""
    for name in ("stdout", "stderr"):
        setattr(sys, name, _Guarded(_bare(getattr(sys, name))))


def _bare(stream: TextIO) -> TextIO:
    return stream.stream if isinstance(stream, _Guarded) else stream


def show_listing(body: bytes, *, as_json: bool = False) -> None:
    """Print an answer of the worker."""
    text = body.decode("utf-8", "replace").rstrip("\n") + "\n"
    if not body.strip():
        return  # a table without a line
    if as_json:
        write_json(text)
        return
    pages = _pages() if columns_shown() else ""
    if text.startswith(PLAIN):
        _show_marked(text, pages)
    else:
        write_fitted(text, lambda safe: coloured(safe, pages))


def _pages() -> str:
    """Where the worker shows records, for a terminal that follows links."""
    if not follows_links(os.environ):
        return ""
    from mem_search.daemon.connection import address, home_of

    place = address(home_of(os.environ.get("MEM_SEARCH_HOME")))
    return f"http://{place[0]}:{place[1]}/v/" if place else ""


def _show_marked(text: str, pages: str) -> None:
    """Print what the worker wrote for a person's terminal, and what it hints at beside."""
    shown, _, hint = text.rstrip("\n").partition(HINT)
    safe = removed(shown) + "\n"
    forced = not columns_shown()  # a preview, whose program shows colours
    colours = not os.environ.get("NO_COLOR") if forced else wants_colour(sys.stdout)
    painted = _painted(safe, pages) if colours else safe.translate(dict.fromkeys(map(ord, MARKS)))
    if forced or not _paged(painted):
        _print(painted)
    if forced or not _columns(sys.stderr):
        return
    if hint:
        note(hint)
    _tell_once(safe.partition(REF)[2].partition(PLAIN)[0])


def _painted(safe: str, pages: str) -> str:
    pieces = safe.split(REF)
    text = pieces[0]
    for piece in pieces[1:]:
        ref, off, rest = piece.partition(PLAIN)
        link = pages and ref.replace(":", "").replace("_", "").isalnum()
        text += f"{_LINK}{pages}{ref}{_LINK_END}{ref}{_LINK}{_LINK_END}" if link else ref
        text += off + rest
    return text.translate({ord(mark): colour for mark, colour in _COLOURS.items()})


def _tell_once(ref: str) -> None:
    """Tell what can be done with a result, the first time in this home."""
    from mem_search.daemon.connection import home_of

    if not ref:
        return
    told = os.path.join(home_of(os.environ.get("MEM_SEARCH_HOME")), _TOLD)  # noqa: PTH118
    try:
        os.close(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return  # told already, or the home cannot be written to
    for tip in _TIPS:
        note(tip.format(ref=ref))


def follows_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is one that is known to follow links (OSC 8).

    Others ignore them or print them, so an unknown one gets none; FORCE_HYPERLINK=1 or 0 decides.
    """
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if any(environ.get(name) for name in ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION")):
        return True
    vte, program = environ.get("VTE_VERSION", ""), environ.get("TERM_PROGRAM", "")
    if vte.isdecimal() and int(vte) >= _VTE_WITH_LINKS:
        return True
    return program in _PROGRAMS or environ.get("TERM", "").startswith(_TERMS)


def screen(*, preview: bool = False, details: bool = False) -> str:
    """The terminal of a person, as the worker is told of it: ``80; locale=de_DE``; empty for a pipe
    and for a terminal that shows nothing but text. A ``preview`` is shown by another program.
    """
    columns = columns_shown()
    if preview:
        told = os.environ.get("FZF_PREVIEW_COLUMNS") or os.environ.get("COLUMNS") or ""
        columns = int(told) if told.isascii() and told.isdigit() else columns or 80
    elif not columns or os.environ.get("TERM") == "dumb":
        return ""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_TIME", "LANG"))
    locale = next(filter(None, names), "").partition(".")[0].partition("@")[0]
    named = f"; locale={locale}" if locale.isascii() and locale.replace("_", "").isalnum() else ""
    return f"{columns}{named}{'; details' if details else ''}"


def write_fitted(text: str, paint: Callable[[str], str] | None = None) -> None:
    """As ``write``; on a terminal, lines go on behind an indent where they are too long.

    What is longer than the terminal goes to the person's pager.
    """
    if columns := columns_shown():
        from mem_search.cli.layout import fitted

        safe = removed(text)
        shown = fitted(paint(safe) if paint and wants_colour(sys.stdout) else safe, columns)
        if not _paged(shown):
            _print(shown)
    else:
        write(text, paint)


def _paged(text: str) -> bool:
    """Show ``text`` in ``PAGER``, or ``less``; False where it fits, or nobody could turn pages."""
    lines = os.get_terminal_size(sys.stdout.fileno()).lines
    pager = os.environ.get("PAGER", "less")
    if not lines or text.count("\n") < lines or pager in ("", "cat") or not sys.stdin.isatty():
        return False
    import signal
    import subprocess

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the pager
    try:
        # As git does: a pager may have arguments. F: quit where it fits, R: colours, X: stay.
        done = subprocess.run(  # noqa: S603  the person chose it
            ["/bin/sh", "-c", pager],
            input=text.encode("utf-8", "replace"),
            env={"LESS": "FRX", **os.environ},
            check=False,
        )
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return done.returncode not in (126, 127)  # there is no such pager


def columns_shown() -> int:
    """The columns of the terminal; 0 for a pipe or a file."""
    return _columns(sys.stdout)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def write(text: str, paint: Callable[[str], str] | None = None) -> bool:
    """Print ``text``, with ``?`` for what the terminal cannot show; False once the reader is gone.

    ``paint`` adds colours where they are wanted: a function from the safe text to a coloured one.
    Ends the program with a message when the text cannot be written, as on a full disk.
    """
    text = removed(text)
    return _print(paint(text) if paint and wants_colour(sys.stdout) else text)


def say(text: str) -> bool:
    """As ``write``, with lines that end at the last column of a terminal; never in a pager."""
    return write(_fitted(removed(text), sys.stdout))


def write_json(text: str) -> bool:
    """As ``write``, for JSON: the same value, with escapes for control characters."""
    return _print(escaped_json(text))


def write_lines_of_json(pieces: Iterable[bytes]) -> bool:
    """As ``write_json`` for UTF-8 that comes in pieces, in UTF-8 whatever the terminal speaks.

    False where there is none.
    """
    from codecs import getincrementaldecoder

    decoder, out = getincrementaldecoder("utf-8")("replace"), sys.stdout.buffer
    piece = b""
    try:
        for piece in pieces:
            out.write(escaped_json(decoder.decode(piece)).encode())
            out.flush()
    except OSError as error:
        _give_up(error)
    return bool(piece)


def _print(text: str) -> bool:
    from io import TextIOWrapper

    stream = _bare(sys.stdout)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        _give_up(error)
        return False
    return True


def note(text: str) -> None:
    """Print a message that is no result, to standard error."""
    stream = _bare(sys.stderr)
    stream.write(_fitted(f"{removed(text)}\n", stream))


def progress(line: str) -> None:
    """Replace the last line of a terminal's standard error."""
    stream = _bare(sys.stderr)
    columns = _columns(stream)
    stream.write(f"\r\x1b[K{removed(line)[: columns - 1 if columns else None]}")
    stream.flush()


def _fitted(text: str, stream: TextIO) -> str:
    """``text`` with lines that end at the last column of a terminal; as it is for anything else."""
    columns = _columns(stream)
    if not columns or all(2 * len(line) <= columns for line in text.split("\n")):
        return text
    from mem_search.cli.layout import fitted

    return fitted(text, columns)


def _give_up(error: OSError) -> None:
    # The interpreter flushes once more when it exits, and must not fail at that.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        note(f"mem-search: cannot write to standard output: {error.strerror}")
        sys.exit(1)


def wants_colour(stream: object) -> bool:
    """Whether ``stream`` is a terminal that takes colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def coloured(text: str, pages: str = "") -> str:
    """A listing with coloured kinds, bold numbers, dim dates and tips.

    With ``pages`` a number is a link to that URL with the number behind it (OSC 8).
    """
    import re

    line = re.compile(r"^(\S+ )([A-Z][\w ]*?) (#\d+)( - .*?)( \([^()]*\))?( +<- .+)?$")

    def painted(row: str) -> str:
        if match := line.match(row):
            icon, kind, number, title, date, mark = match.groups(default="")
            if pages:
                number = f"{_LINK}{pages}{number[1:]}{_LINK_END}{number}{_LINK}{_LINK_END}"
            shown = f"{icon}{_CYAN}{kind}{_OFF} {_BOLD}{number}{_OFF}{title}"
            return shown + (f"{_DIM}{date}{_OFF}" if date else "") + mark
        if row.startswith(("Tip:", "Try:", "Showing ")):
            return f"{_DIM}{row}{_OFF}"
        if row.startswith(("Found ", "No results", "Timeline", "#")):
            return f"{_BOLD}{row}{_OFF}"
        return row

    return "\n".join(painted(row) for row in text.split("\n"))
