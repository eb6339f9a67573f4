"""What is printed: listings, coloured on a terminal and plain in a pipe.

Loaded on the quick path, so what only a terminal needs is imported when there is one.
"""

import os
import sys

_BOLD, _DIM, _CYAN, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


def show_listing(body: bytes, *, as_json: bool = False) -> None:
    """Print an answer of the worker; a reader that goes away is nobody's fault."""
    text = body.decode("utf-8", "replace").rstrip("\n") + "\n"
    if not as_json and wants_colour(sys.stdout):
        text = coloured(text)
    write(text)


def write(text: str) -> bool:
    """Print ``text`` whatever the terminal can show; whether somebody reads on.

    Exits with one line when there is no room for it, as on a full disk.
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
    """As ``write``; whether somebody reads on."""
    try:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except OSError as error:
        _give_up(error)
        return False
    return True


def _give_up(error: OSError) -> None:
    # The interpreter flushes once more when it ends: give it somewhere to write to.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"mem-search: cannot write to standard output: {error.strerror}\n")
        sys.exit(1)


def wants_colour(stream: object) -> bool:
    """Whether to colour what is written to ``stream`` (see no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def coloured(text: str) -> str:
    """A listing with its kinds in colour, numbers bold, dates and tips dim."""
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
