"""Characters that act on a terminal, reorder a line or hide in it, instead of showing something.

Escape sequences begin with a control character (ECMA-48: C0 and C1), so a text without these is
safe to print. Direction overrides and isolates disguise a line (CVE-2021-42574), and invisible
characters hide text in it. Zero-width joiners stay: emoji, Arabic and Indic scripts need them.
The command line imports this for every search, so it imports nothing itself.
"""

_RANGES = (
    (0x00, 0x08), (0x0B, 0x1F),  # C0 without tab and newline
    (0x7F, 0x9F),  # DELETE and C1
    (0x061C, 0x061C), (0x200E, 0x200F),  # direction marks
    (0x200B, 0x200B), (0xFEFF, 0xFEFF),  # zero-width spaces
    (0x2028, 0x202E),  # line and paragraph separators, direction embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates, deprecated controls
    (0xFFF9, 0xFFFB),  # interlinear annotations
    (0xE0000, 0xE007F),  # tags: a second, invisible alphabet
)  # fmt: skip

PLAIN, BOLD, DIM, KIND, WORD, REF, HINT = map(chr, range(0xFDD0, 0xFDD7))
"""Marks by which the worker says how a person's terminal shows what follows, up to ``PLAIN``: code
points that are no characters (Unicode 23.7), and that no stored text keeps there. ``REF`` begins a
link to a record. What follows ``HINT`` is no result.
"""

MARKS = PLAIN + BOLD + DIM + KIND + WORD + REF + HINT

CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES)
"""The inside of a character class of a regular expression."""

SEQUENCE = "\x1b(?:\\[[0-9;:?]{0,40}[@-~]|\\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\\\))"
"""What a terminal shows as a colour or a link, as a regular expression. To whoever drops its first
character alone, ``ESC[1mquay`` is the word 1mquay."""

_POINTS = [point for first, last in _RANGES for point in range(first, last + 1)]
_REMOVED = dict.fromkeys(_POINTS)
_SHOWN = {point: f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" for point in _POINTS} | {
    0x0A: "\\n"
}
_IN_JSON = {
    point: "".join(
        f"\\u{unit:04x}"
        for unit in ([point] if point < 0x10000 else [0xDB40, 0xDC00 + (point & 0x3FF)])
    )
    for point in _POINTS
    if point != 0x0D  # between values, where JSON may have it
}


def removed(text: str) -> str:
    """``text`` without them, and without the sequences for colours (``ESC[1m``) that they begin.

    ``\\r\\n`` stays: CSV and HTTP end their lines with it.
    """
    first, *rest = text.split("\x1b[")
    text = first + "".join(part.lstrip("0123456789;:?")[1:] for part in rest)
    return "\r\n".join(part.translate(_REMOVED) for part in text.split("\r\n"))


def escaped(text: str) -> str:
    """``text`` on one line, with ``\\x1b`` in place of a character that acts."""
    return text if text.isprintable() else text.translate(_SHOWN)


def escaped_json(text: str) -> str:
    """The same JSON: what acts stands only in strings, and becomes ``\\u001b`` there."""
    return text if text.isprintable() else text.translate(_IN_JSON)
