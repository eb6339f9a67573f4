"""Printing: listings in colour on a terminal, plain in a pipe.

The fast path loads this module, so functions import what only they need.
"""

import os
import sys

_BOLD, _DIM, _CYAN, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


def show_listing(body: bytes, *, as_json: bool = False) -> None:
    """Print an answer of the worker."""
    text = body.decode("utf-8", "replace").rstrip("\n") + "\n"
    if not as_json and wants_colour(sys.stdout):
        text = coloured(text)
    write(text)


def write(text: str) -> bool:
    """Print ``text``, with ``?`` for what the terminal cannot show; False once the reader is gone.

    Ends the program with a message when the text cannot be written, as on a full disk.
    """
    from io import TextIOWrapper

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _give_up(error)
        return False
    return True


def write_bytes(piece: bytes) -> bool:
    """As ``write``, for bytes."""
    try:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except OSError as error:
        _give_up(error)
        return False
    return True


def _give_up(error: OSError) -> None:
    # The interpreter flushes once more when it exits, and must not fail at that.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"mem-search: cannot write to standard output: {error.strerror}\n")
        sys.exit(1)


def wants_colour(stream: object) -> bool:
    """Whether ``stream`` is a terminal that takes colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def coloured(text: str) -> str:
    """A listing with coloured kinds, bold numbers, dim dates and tips."""
    import re

    line = re.compile(r"^(\S+ )([A-Z][\w ]*?) (#\d+)( - .*?)( \([^()]*\))?( +<- .+)?$")

    def painted(row: str) -> str:
        if found := line.match(row):
            icon, kind, number, title, date, mark = found.groups(default="")
            shown = f"{icon}{_CYAN}{kind}{_OFF} {_BOLD}{number}{_OFF}{title}"
            return shown + (f"{_DIM}{date}{_OFF}" if date else "") + mark
        if row.startswith(("Tip:", "Try:", "Showing ")):
            return f"{_DIM}{row}{_OFF}"
        if row.startswith(("Found ", "No results", "Timeline", "#")):
            return f"{_BOLD}{row}{_OFF}"
        return row

    return "\n".join(painted(row) for row in text.split("\n"))
