"""Values in a text: money, days, telephone numbers, postal addresses, organisations, URLs.

Each reader takes a short text and leaves out what it could read in two ways: ``3/5/2024`` is two
days, ``1,234`` without decimals is no amount unless it has a currency. All are linear in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from mem_search.patterns import pattern

_SIGNS: Final = {
    "US$": "USD", "CA$": "CAD", "C$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD",
    "HK$": "HKD", "S$": "SGD", "R$": "BRL", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY",
    "₹": "INR", "₽": "RUB", "₩": "KRW", "zł": "PLN", "Kč": "CZK", "元": "CNY", "円": "JPY",
}  # fmt: skip
_CODES: Final = (
    "USD EUR GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK PLN CZK HUF BRL MXN ZAR SGD HKD KRW TRY"
    " RUB ILS AED THB IDR"
).split()
_SIGN: Final = "|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True)))
_CODE: Final = "|".join(_CODES)
_NUMBER: Final = (
    r"-?\d{1,3}(?:[., '’\u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?|-?\d{1,12}(?:[.,]\d{1,2})?"
)
MONEY: Final = pattern(
    rf"(?<![\w.,])(?:(?P<before>{_SIGN}|(?:{_CODE})\b)\s?)?(?P<number>{_NUMBER})(?![\d%])"
    rf"(?:\s?(?P<after>{_SIGN}|(?:{_CODE}|[Ee]uros?|[Dd]ollars)\b))?"
)
_DOLLARS: Final = pattern(r"\b(CAD|AUD|NZD|HKD|SGD|MXN)\b")
_DECIMALS: Final = pattern(r"[.,](\d{1,2})\Z")


@dataclass(frozen=True, slots=True)
class Sum:
    """An amount of money; ``currency`` is "" where the text has none."""

    amount: float
    currency: str


def money(text: str, dollars: str = "USD") -> Sum | None:
    """The amount at the beginning of ``text``: with a currency, or with two decimals.

    ``dollars`` is what ``$`` means.
    """
    match = MONEY.match(text)
    if match is None:
        return None
    sign = match["before"] or match["after"] or ""
    number = match["number"]
    decimals = _DECIMALS.search(number)
    if not sign and (decimals is None or len(decimals[1]) < 2):
        return None
    whole = number[: decimals.start()] if decimals else number
    digits = re.sub(r"[^\d-]", "", whole)
    amount = float(f"{digits}.{decimals[1]}" if decimals else digits)
    return Sum(amount, dollars if sign == "$" else _currency(sign))


def dollars_of(text: str) -> str:
    """The dollar that a text means: another one than that of the USA where it names one alone."""
    named = set(_DOLLARS.findall(text))
    return named.pop() if len(named) == 1 and "USD" not in text else "USD"


def _currency(sign: str) -> str:
    word = sign.lower()
    if word.startswith("euro"):
        return "EUR"
    return "USD" if word == "dollars" else _SIGNS.get(sign, sign)


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier janv enero ene gennaio gen januari janeiro",
            "february feb februar février fevrier févr febrero febbraio februari fevereiro",
            "march mar märz mrz maerz mars marzo maart março",
            "april apr avril avr abril aprile",
            "may mai mayo maggio mag mei maio",
            "june jun juni juin junio giugno giu junho",
            "july jul juli juillet juil julio luglio lug julho",
            "august aug août aout agosto ago augustus",
            "september sep sept septembre septiembre settembre set setembro",
            "october oct oktober okt octobre octubre ottobre ott outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre decembre déc diciembre dic dicembre desember"
            " dezembro",
        ),
        1,
    )
    for name in names.split()
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:19|20)\d\d"
DAY: Final = pattern(
    rf"""(?<![\w/.-])(?:
        (?P<y1>{_YEAR})-(?P<m1>\d\d)-(?P<d1>\d\d)
      | (?P<y2>{_YEAR})[年/.](?P<m2>\d\d?)[月/.](?P<d2>\d\d?)日?
      | (?P<d3>\d\d?)\.\s?(?P<m3>\d\d?)\.\s?(?P<y3>{_YEAR})
      | (?P<d4>\d\d?)(?:st|nd|rd|th|er|\.|º)?\s(?:de\s|of\s)?
        (?P<m4>{_MONTH})\.?,?\s(?:del?\s)?(?P<y4>{_YEAR})
      | (?P<m5>{_MONTH})\.?\s(?P<d5>\d\d?)(?:st|nd|rd|th)?,?\s(?P<y5>{_YEAR})
      | (?P<a6>\d\d?)(?P<s6>[/-])(?P<b6>\d\d?)(?P=s6)(?P<y6>{_YEAR})
    )(?!\w|[/-]\d)""",
    re.VERBOSE | re.IGNORECASE,
)


def day(match: re.Match[str], first: str = "") -> str:
    """The day of a match of ``DAY`` in ISO form; "" for one that is not sure or does not exist.

    ``first`` is what stands first in ``3/5/2024``: ``day``, ``month``, or "" when it is not known.
    """
    parts = {name[0]: value for name, value in match.groupdict().items() if value is not None}
    if "a" in parts:
        one, two = int(parts["a"]), int(parts["b"])
        order = "day" if one > 12 else "month" if two > 12 else "same" if one == two else first
        if not order:
            return ""
        parts |= {"d": parts["b"], "m": parts["a"]} if order == "month" else {
            "d": parts["a"], "m": parts["b"]
        }  # fmt: skip
    month = parts["m"].lower()
    try:
        return date(
            int(parts["y"]), _MONTHS[month] if not month.isdecimal() else int(month),
            int(parts["d"]),
        ).isoformat()  # fmt: skip
    except ValueError:
        return ""


def order_of(text: str) -> str:
    """What stands first in ``3/5/2024`` in this text: another day of it may say it."""
    orders = set()
    for match in _SLASHED.finditer(text):
        one, two = int(match[1]), int(match[2])
        if (one > 12) != (two > 12):
            orders.add("day" if one > 12 else "month")
    return orders.pop() if len(orders) == 1 else ""


_SLASHED: Final = pattern(rf"(?<![\w/.-])(\d\d?)[/-](\d\d?)[/-]{_YEAR}(?!\w)")
_PHONE: Final = pattern(
    r"(?<![\w.+/-])(?:\+\d{1,3}[ .\-/]?(?:\(0?\d{1,5}\)[ .\-/]?)?\d{1,5}(?:[ .\-/]?\d{2,5}){1,5}"
    r"|(?:\(\d{3}\)\s?|\d{3}[-.])\d{3}[-.]\d{4})(?![\w/-]|\.\d)"
)
_LABELLED_PHONE: Final = pattern(
    r"(?<!\w)(?:tel|telephone|phone|mobile|mobil|telefon|téléphone|tél|teléfono|telefono|fax|cell)"
    r"\.?\s?(?:no\.?|nr\.?)?\s?:?\s?(\(?\d[\d ()/.\-]{5,20}\d)(?![\w-])",
    re.IGNORECASE,
)


def phones(text: str) -> Iterator[str]:
    """International numbers, numbers of North America, and those after a word such as ``Tel``."""
    for form in (_PHONE, _LABELLED_PHONE):
        for match in form.finditer(text):
            number = " ".join(match[match.lastindex or 0].split())
            if 7 <= sum(letter.isdigit() for letter in number) <= 15:
                yield number


_URL: Final = pattern(r"https?://[^\s<>\"'`\[\]{}|\\^]{3,200}", re.IGNORECASE)


def urls(text: str) -> Iterator[str]:
    """Web addresses, without the punctuation behind them."""
    for match in _URL.finditer(text):
        url = match[0].rstrip(".,;:!?*")
        yield url if "(" in url else url.rstrip(")")


_STREET_FIRST: Final = (
    r"[A-ZÄÖÜ][\w.'’-]{1,30}(?:[ ][A-ZÄÖÜ][\w.'’-]{1,30}){0,2}"
    r"(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer"
    r"|[ ](?:Stra(?:ß|ss)e|Weg|Platz|Allee))"
    r"[ ]\d{1,4}[ ]?[a-z]?(?:\s?-\s?\d{1,4})?[ ,]*\n?[ ,]*(?:[A-Z]{1,2}-)?\d{4,5}\s"
    r"[A-ZÄÖÜ][\w-]{2,30}(?:[ ](?:am|an der|im|ob der|bei)[ ][A-ZÄÖÜ][\w-]{2,20})?"
)
_ANGLO: Final = (
    r"(?:\d{1,5}[A-Z]?\s[A-Z0-9][\w.'’-]{0,30}(?:[ ][A-Z][\w.'’-]{1,30}){0,3}\s"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Way|Place|Pl"
    r"|Square|Sq|Terrace|Parkway|Pkwy|Highway|Hwy)\b\.?(?:,?\s(?:Suite|Ste|Apt|Unit|Floor|\#)\.?"
    r"\s?[\w-]{1,8})?|P\.?\s?O\.?\sBox\s\d{1,8})[ ,]*\n?[ ,]*"
    r"[A-Z][\w.'’-]{1,30}(?:[ ][A-Z][\w.'’-]{1,30}){0,3}[ ,]*\n?[ ,]*"
    r"(?:[A-Z]{2}[ ,]+\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})(?!\w)"
)
_FRENCH: Final = (
    r"\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|allée|quai|impasse)\s"
    r"[^\n,\d]{3,40}[ ,]*\n?[ ,]*\d{5}\s[A-ZÉ][\w'’-]{1,30}(?:[ -][A-ZÉ][\w'’-]{1,20}){0,3}"
)
_ADDRESS: Final = pattern(rf"(?<![\w.-])(?:{_STREET_FIRST}|{_ANGLO}|{_FRENCH})")


def addresses(text: str) -> Iterator[str]:
    """Postal addresses with a street (or a PO box), a town and its postal code."""
    for match in _ADDRESS.finditer(text):
        yield ", ".join(
            filter(None, (" ".join(p.split()).strip(" ,") for p in match[0].split("\n")))
        )


_LEGAL: Final = (
    r"GmbH(?:\s&\sCo\.?\sKG)?|gGmbH|mbH|AG|UG|KG|OHG|SE|e\.\s?V\.|eG|Inc\.?|LLC|L\.L\.C\.|Ltd\.?"
    r"|Limited|LLP|PLC|plc|Corp\.?|Corporation|Co\.|Company|S\.A\.S\.|SAS|SARL|S\.A\.R\.L\.|S\.A\."
    r"|S\.L\.|S\.p\.A\.|S\.r\.l\.|SpA|B\.V\.|BV|N\.V\.|NV|AB|A/S|ApS|Oy|Pty\.?\sLtd\.?"
)
_COMPANY: Final = pattern(
    r"(?<![\w&.'’-])[A-ZÄÖÜÉ0-9][\w&'’.-]{1,30}(?:[ ](?:&|und|and|[A-ZÄÖÜÉ][\w&'’.-]{0,30})){0,4}"
    rf",?[ ](?:{_LEGAL})(?![\w])"
)
_BODY: Final = pattern(
    r"(?<!\w)(?:bank|insurance|university|college|pharmacy|hospital|clinic|department|ministry"
    r"|agency|authority|service|services|council|bureau|institute|foundation|association|court"
    r"|revenue|library|airlines|railway|telecom|energy|utilities|society|union|dental|practice"
    r"|versicherung\w*|krankenkasse|finanzamt|stadtwerke|universität|sparkasse|volksbank|apotheke"
    r"|klinikum|krankenhaus|amtsgericht|ministerium|bundesagentur|behörde|stadt|gemeinde"
    r"|banque|assurance\w*|université|pharmacie|hôpital|préfecture|mairie"
    r"|banco|seguros|universidad|farmacia|ayuntamiento|ministerio)(?!\w)",
    re.IGNORECASE,
)
_NO_NAME: Final = pattern(r"[:;?!@#=<>|_]|https?:|\d{4}|(?:[.,]\s*$)")
_SMALL: Final = frozenset(
    "of the and for & der die das des und für de la le du des et del y d' on".split()
)


def companies(text: str) -> Iterator[str]:
    """Names with a legal form: ``Quay Lamps Ltd``."""
    for match in _COMPANY.finditer(text):
        yield match[0].removesuffix(",")


def letterhead(line: str) -> str:
    """The line as the name of a public body, a bank, a pharmacy, …; "" for another line."""
    name = " ".join(line.split()).strip(" -*•")
    words = name.split()
    if not 2 <= len(words) <= 8 or len(name) > 60 or _NO_NAME.search(name):
        return ""
    named = all(word.lower() in _SMALL or not word[:1].islower() for word in words)
    return name if named and _BODY.search(name) else ""
