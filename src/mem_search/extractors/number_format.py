"""Numbers as a cell shows them: the number formats of spreadsheets (ECMA-376, 18.8.30).

A format that cannot be followed shows the number itself. What a spreadsheet shows by the language
of its user (the formats 14 and 22) is an ISO date here.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from mem_search.patterns import pattern

BUILT_IN: Final = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0', 6: '"$"#,##0',
    7: '"$"#,##0.00', 8: '"$"#,##0.00', 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?",
    13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd hh:mm",
    **dict.fromkeys((*range(27, 37), *range(50, 59)), "yyyy-mm-dd"),
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;(#,##0)", 42: '"$"#,##0;("$"#,##0)', 43: "#,##0.00;(#,##0.00)",
    44: '"$"#,##0.00;("$"#,##0.00)', 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "0.0E+0",
    49: "@",
}  # fmt: skip
"""Number of a format → its code."""

_TOKEN: Final = pattern(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<brackets>[^\]]*)\]'
    r"|(?P<general>General)|(?P<ampm>AM/PM|A/P)|(?P<part>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+)"
    r"|(?P<places>E[+-]|[0#?.,%/@])|(?P<literal>.)",
    re.DOTALL,
)
_CONDITION: Final = pattern(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_MONTHS: Final = (
    "January February March April May June July August September October November December"
).split()
_DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_MAX_CODE_CHARS: Final = 255
"""The most that a spreadsheet takes."""
_MAX_PLACES: Final = 30
_MAX_SERIAL: Final = 2_958_466
"""The day after the last one that a cell can show: 31 December 9999."""
_DAYS_OF_1904: Final = 1462
_PRECISION: Final = 15
"""Digits that a spreadsheet keeps; the others are noise of binary fractions."""

Token = tuple[str, str]


def formatted(value: float, code: str, *, is_1904: bool = False) -> str:
    """The number as the format ``code`` shows it; ``is_1904``: days are counted from 1904."""
    if not math.isfinite(value):
        return str(value)
    try:
        section, number = _chosen(value, code)
        if section is None:
            return general(value)
        if any(kind in ("part", "ampm") for kind, _ in section):
            return _moment(value + _DAYS_OF_1904 * is_1904, section)
        return _number(number, section)
    except (ValueError, OverflowError, ArithmeticError):
        return general(value)


def general(value: float) -> str:
    """A number without a format: ``3``, ``0.3``, ``1.5E+20``."""
    said = f"{value:.{_PRECISION}G}"
    if "E" in said and 1e-5 <= abs(value) < 1e15:
        return f"{value:.{_PRECISION}f}".rstrip("0").rstrip(".")
    return said


def _chosen(value: float, code: str) -> tuple[tuple[Token, ...] | None, float]:
    """The section for the value, and what it shows; None for a number without a format."""
    sections = _sections(code[:_MAX_CODE_CHARS])
    numeric = [each for each in sections if ("places", "@") not in each] or [()]
    conditions = [_condition(each) for each in numeric]
    if any(conditions):
        for section, condition in zip(numeric, conditions, strict=True):
            if condition is None or _holds(value, *condition):
                return _or_general(section, abs(value) if len(numeric) > 1 else value)
        return None, value
    if value < 0 and len(numeric) > 1:
        return _or_general(numeric[1], -value)
    if value == 0 and len(numeric) > 2:
        return _or_general(numeric[2], value)
    return _or_general(numeric[0], value)


def _or_general(section: tuple[Token, ...], value: float) -> tuple[tuple[Token, ...] | None, float]:
    return (None if section in ((), (("general", "General"),)) else section), value


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[tuple[Token, ...], ...]:
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or "literal"
        text = match[kind] or ""
        if kind == "literal" and text == ";":
            sections.append([])
        elif kind in ("quoted", "escaped", "literal"):
            sections[-1].append(("literal", text))
        elif kind == "brackets" and text.startswith("$"):
            sections[-1].append(("literal", text[1:].partition("-")[0]))
        elif kind == "brackets" and text.lower().strip("hms") == "" and text:
            sections[-1].append(("part", f"[{text.lower()}"))
        elif kind == "brackets" and _CONDITION.fullmatch(text):
            sections[-1].append(("condition", text))
        elif kind == "space":
            sections[-1].append(("literal", " "))
        elif kind in ("general", "ampm", "part", "places"):
            sections[-1].append((kind, text.lower() if kind == "part" else text))
    return tuple(map(tuple, sections))


def _condition(section: tuple[Token, ...]) -> tuple[str, float] | None:
    for kind, text in section:
        if kind == "condition" and (match := _CONDITION.fullmatch(text)):
            return match[1], float(match[2])
    return None


def _holds(value: float, sign: str, bound: float) -> bool:
    return {
        "<": value < bound, ">": value > bound, "=": value == bound,
        "<=": value <= bound, ">=": value >= bound, "<>": value != bound,
    }[sign]  # fmt: skip


def _number(value: float, section: tuple[Token, ...]) -> str:
    places = "".join(text for kind, text in section if kind == "places")
    if not re.search("[0#?]", places):  # words alone, or words and the number without a format
        told = "".join(
            general(value) if kind == "general" or text == "@" else text
            for kind, text in section
            if kind in ("literal", "general", "places")
        )
        return told.strip()
    if "E" in places:
        mantissa = places.partition("E")[0]
        decimals = len(re.findall("[0#?]", mantissa.partition(".")[2]))
        return f"{value:.{min(decimals, _MAX_PLACES)}E}"
    first = next(at for at, (kind, text) in enumerate(section) if kind == "places" and text != "%")
    last = max(at for at, (kind, text) in enumerate(section) if kind == "places" and text != "%")
    before = "".join(text for kind, text in section[:first] if kind == "literal")
    middle = section[first : last + 1]
    after = "".join(text for kind, text in section[last + 1 :] if kind == "literal" or text == "%")
    before += "%" * any(each == ("places", "%") for each in section[:first])
    if ("places", "/") in middle:
        return f"{before}{_fraction(value, section[first:])}".strip()  # the last may be a number
    sign = "-" if value < 0 else ""
    percent = 100 ** places.count("%")
    digits = places.replace("%", "")
    thousands = 1000 ** sum(map(len, re.findall(r",+(?=\.|$)", digits)))
    is_grouped = bool(re.search("[0#?],+[0#?]", digits))
    number = Decimal(repr(abs(value))) * percent / thousands
    return f"{before}{sign if number else ''}{_filled(number, middle, is_grouped)}{after}".strip()


def _filled(number: Decimal, middle: tuple[Token, ...], is_grouped: bool) -> str:
    """The digits in their places, and what stands between these."""
    point = next((at for at, each in enumerate(middle) if each == ("places", ".")), len(middle))
    whole, decimal = middle[:point], middle[point + 1 :]
    marks = [text for kind, text in decimal if kind == "places" and text in "0#?"]
    rounded = f"{round_half_up(number, min(len(marks), _MAX_PLACES)):f}"
    units, _, fraction = rounded.partition(".")
    least = sum(text == "0" for kind, text in whole if kind == "places")
    units = units.lstrip("0").rjust(least, "0")
    needed = sum(mark == "0" for mark in marks)
    while len(fraction) > needed and fraction.endswith("0"):
        fraction = fraction[:-1]
    if is_grouped:
        units = f"{int(units or 0):,}".rjust(least, "0") if units else ""
    has_words = any(kind == "literal" for kind, _ in whole)
    told = _between(units, whole) if has_words and not is_grouped else units
    end = "".join(text for kind, text in decimal if kind == "literal")
    return f"{told}{'.' if fraction or needed else ''}{fraction}{end}"


def _between(units: str, whole: tuple[Token, ...]) -> str:
    """The digits from the right into the places of ``whole``, with the words between these."""
    told, left = [], units
    places = sum(kind == "places" and text in "0#?" for kind, text in whole)
    for kind, text in reversed(whole):
        if kind == "literal":
            told.append(text)
        elif text in ("0", "#", "?"):
            places -= 1
            taken, left = (left[-1:], left[:-1]) if places else (left, "")
            told.append(taken)
    return "".join(reversed(told))


def round_half_up(number: Decimal, places: int) -> Decimal:
    """Rounded as people do: 0.125 to 0.13."""
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def _fraction(value: float, middle: tuple[Token, ...]) -> str:
    text = "".join(each for _, each in middle)
    under = text.partition("/")[2].strip()
    whole = int(abs(value)) if re.search(r"[0#?]\s+[0#?]*/|[0#?] ", text) else 0
    rest = Fraction(abs(value) - whole)
    if under.isdigit() and under.strip("0"):
        bound = Fraction(round(rest * int(under)), int(under))
        upper, lower = round(rest * int(under)), int(under)
    else:
        bound = rest.limit_denominator(10 ** min(len(under), 4) - 1)
        upper, lower = bound.numerator, bound.denominator
    sign = "-" if value < 0 else ""
    if not bound:
        return f"{sign}{whole}"
    return f"{sign}{f'{whole} ' if whole else ''}{upper}/{lower}"


def _moment(serial: float, section: tuple[Token, ...]) -> str:
    """A date, a time, or a span of hours, of a number of days."""
    if any(kind == "part" and text.startswith("[") for kind, text in section):
        return _span(serial, section)
    if not 0 <= serial < _MAX_SERIAL:
        return general(serial)
    has_fraction = any(
        kind == "part" and text.startswith("s") and section[at + 1 : at + 3]
        == (("places", "."), ("places", "0")) for at, (kind, text) in enumerate(section)
    )  # fmt: skip
    # 1900 is a leap year for spreadsheets, so their days before March are off by one.
    day = datetime(1899, 12, 30) + timedelta(days=int(serial) + (serial < 60))  # noqa: DTZ001
    at = day + timedelta(seconds=round((serial % 1) * 86400, 3 if has_fraction else 0))
    is_12 = any(kind == "ampm" for kind, _ in section)
    told, was_hour = [], False
    parts = [text for kind, text in section if kind == "part"]
    seen = 0
    for kind, text in section:
        if kind == "part":
            seen += 1
            following = parts[seen] if seen < len(parts) else ""
            is_minute = text[0] == "m" and len(text) < 3 and (was_hour or following[:1] == "s")
            told.append(_part(at, "n" * len(text) if is_minute else text, is_12=is_12))
            was_hour = text[0] == "h"
        elif kind == "ampm":
            word = "AM" if at.hour < 12 else "PM"
            told.append(word if text == "AM/PM" else word[0])
        elif kind == "literal" or text in "/.,":
            told.append(text)
        elif text == "0" and told and told[-1] == ".":
            told.append(f"{at.microsecond // 100_000}")
    return "".join(told).strip()


def _part(at: datetime, part: str, *, is_12: bool) -> str:
    hour = (at.hour % 12 or 12) if is_12 else at.hour
    number = {"y": at.year, "m": at.month, "d": at.day, "h": hour, "n": at.minute, "s": at.second}
    letter, size = part[0], len(part)
    if letter == "y":
        return f"{at.year:04}" if size > 2 else f"{at.year % 100:02}"
    if letter == "m" and size >= 3:
        name = _MONTHS[at.month - 1]
        return {3: name[:3], 5: name[0]}.get(size, name)
    if letter == "d" and size >= 3:
        name = _DAYS[at.weekday()]
        return name[:3] if size == 3 else name
    return f"{number[letter]:02}" if size > 1 else f"{number[letter]}"


def _span(serial: float, section: tuple[Token, ...]) -> str:
    seconds = round(abs(serial) * 86400)
    told = ["-"] if serial < 0 else []
    for kind, text in section:
        if kind != "part":
            told.append(text if kind == "literal" else "")
            continue
        letter = text.lstrip("[")[0]
        unit = {"h": 3600, "m": 60, "s": 1}[letter]
        number = seconds // unit
        seconds -= number * unit if text.startswith("[") or letter != "s" else 0
        told.append(f"{number:0{len(text.lstrip('['))}}")
    return "".join(told)
