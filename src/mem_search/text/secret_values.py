"""Whether a value assigned to a name like ``password`` is a secret.

Identifiers, types, paths, numbers, placeholders and references to a secret elsewhere are none;
scrambled characters are. ``redaction`` finds and replaces the values.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, Literal

from mem_search.patterns import pattern
from mem_search.text.stop_words import STOP_WORDS

Place = Literal["string", "data", "code"]

_PLACEHOLDER: Final = pattern(
    r"\[redacted:|\$[{(]|^\$\w+$|^%\w*%?$|%\(|\{[\w.]*\}|^[<{].*[>}]?$"
    # Signs, perhaps between a prefix that all keys have and the last letters: sk-ant-…, ****1234.
    r"|^(?:[A-Za-z]{1,5}[0-9]{0,2}[-_]){0,3}[A-Za-z0-9]{0,4}"
    r"(?:\.{3}|…|[*•]{3}|x{4})[.…*•x_-]*[A-Za-z0-9]{0,4}$"
    r"|^(?:your|change[-_ ]?me|change[-_ ]?it|insert|replace|undefined)"
    r"|(?<![a-z0-9])(?:your|my|example|sample|placeholder|dummy|todo|fixme|here)(?![a-z0-9])",
    re.IGNORECASE,
)
_ELSEWHERE: Final = pattern(
    r"[a-z][a-z0-9+.-]{0,30}://|(?:sha[0-9]{1,3}|md5)[:-]|arn:aws|[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|(?:process\.env|os\.environ|env|secrets|vars|config|settings|self|this)\.",
    re.IGNORECASE,
)
_PATH: Final = pattern(r"(?:~|\.{0,2})/|[A-Za-z]:[\\/]")
_BASE64: Final = pattern("[A-Za-z0-9/+]{40,}={0,2}")
_RUN: Final = pattern("[A-Za-z0-9]+")
_WORD: Final = pattern("[A-Za-z]+|[0-9]{1,8}|[vV][0-9]{1,6}")
_NUMBERED_WORD: Final = pattern("[A-Za-z]+[0-9]{1,3}")
# Every secret matches this; a fast first check.
_HINT: Final = pattern("[0-9]|[A-Za-z0-9][!@#$%^&*+?~]|[A-Za-z]{10}")
_TYPE: Final = pattern("(?:[A-Z]{1,9}[a-z]{0,9}[0-9]{1,5}){1,3}(?:[A-Z][a-z]{2,})+")
_SPECIAL: Final = pattern("[A-Za-z0-9][!@#$%^&*+?~]+[A-Za-z0-9]")
_SIGNS: Final = pattern("(?<=[A-Za-z0-9])[!#$%^*?~]+(?=[A-Za-z0-9])")
_MIN_SIGNED_CHARS: Final = 12
_TECHNICAL: Final = pattern(
    "(?:sha|md|base|utf|aes|rs|hs|es|ps|rsa|oauth|ed|argon|pbkdf|http|ipv|u?int|float|s|k|p|u|i|f"
    "|pass|password|passwd|pw|pwd|token|secret|key|arg|str|string|user|test)[0-9]+",
    re.IGNORECASE,
)
_GENERIC: Final = frozenset("password passwd passw0rd pass pwd pw secret token key".split())
_TELLING: Final = pattern(
    r"(?:passw(?:or)?d|passphrase|pwd|(?:client|auth|access|refresh|private|api|app|secret|consumer"
    r"|shared|bearer|session|master|encryption|signing)[_\- ]?(?:secret|token|key))\Z",
    re.IGNORECASE,
)
_STATES: Final = frozenset(
    "required optional string number integer boolean object array null undefined enabled disabled"
    " missing invalid expired changed hidden masked redacted unknown default incorrect correct"
    " rejected accepted failed success succeeded present absent bearer digest basic plaintext"
    " encrypted hashed bcrypt scrypt argon2 kerberos certificate oauth oauth2 rotated revoked"
    " active inactive pending forgotten generated supplied provided omitted private public"
    " password passphrase credentials username nullable".split()
)
"""What is said of a secret under its name."""

_FUNCTION_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())
_ASKED: Final = frozenset(
    "must least most minimum maximum characters chars length letters digits enter type choose login"
    " sign log reset forgot repeat again new confirm confirmation wrong hash hashed value field"
    " text user admin account argument option too short weak strong match settings security".split()
)
"""What labels and messages say of a password, beside ``_STATES``."""
_OF_SECRETS: Final = pattern(
    r"pass(?:w|p|c|e\b|\b)|\bpw|kennwort|secret|token|\bkeys?\b|credential|contrase|clave|senha"
    r"|wachtwoord|has[lł]o|lösenord|heslo|şifre|парол"
)
_PHRASE: Final = pattern(r"[^\W_][\w'’.-]{0,30}[!?,;]?(?: {1,3}[^\W_][\w'’.-]{0,30}[!?,;]?){1,23}")


def is_phrase(value: str) -> bool:
    """Whether ``value``, in quotes under the name of a password, is a passphrase of words, and not
    a label or a message about one.
    """
    plain = value.lower()
    if not _PHRASE.fullmatch(plain) or is_placeholder(value) or _OF_SECRETS.search(plain):
        return False
    words = re.findall(r"\w+", plain)
    function = sum(len(word) > 1 and word in _FUNCTION_WORDS for word in words)
    said = sum(word in _STATES or word in _ASKED for word in words)
    return 3 * function <= len(words) and 3 * said <= len(words)


def is_told(name: str, value: str) -> bool:
    """Whether ``value`` is a secret because its ``name`` says so, however ordinary it looks:
    ``{"client_secret": "winterblume"}``.
    """
    return (
        len(value) >= 6
        and _TELLING.search(name) is not None
        and value.lower() not in _STATES
        and (is_phrase(value) or not any(letter.isspace() for letter in value))
        and not (is_placeholder(value) or _ELSEWHERE.match(value) or _PATH.match(value))
    )


def is_placeholder(value: str) -> bool:
    """Whether ``value`` is a placeholder: ``<your-key>``, ``${VAR}``, ``xxxx``, ``changeme``."""
    return (
        len(set(value)) <= 3 or value.lower() in _GENERIC or _PLACEHOLDER.search(value) is not None
    )


def is_secret(value: str, place: Place, *, password: bool) -> bool:
    """Whether ``value`` is hard to guess and no reference to a secret.

    ``place``: a quoted ``string``, ``data`` (``KEY=value``, ``key: value``) or ``code``, where it
    may be an identifier. ``password``: the name says so; people choose shorter secrets.
    """
    chosen = password and place != "code"
    if len(value) < (6 if chosen else 8) or not _HINT.search(value) or is_placeholder(value):
        return False
    if _ELSEWHERE.match(value) or (_PATH.match(value) and not _BASE64.fullmatch(value)):
        return False
    if any(letter.isspace() for letter in value):  # a sentence about a secret
        return False
    if re.fullmatch(r"[0-9][0-9.,_]*", value):
        return chosen
    if _TYPE.fullmatch(value.rpartition(".")[2]) and not (password and place == "string"):
        return False
    runs = _RUN.findall(value)
    if chosen:
        return not all(_WORD.fullmatch(run) or _TECHNICAL.fullmatch(run) for run in runs) or (
            _SPECIAL.search(value) is not None or any(_is_scrambled(run, 10) for run in runs)
        )
    if place != "code" and (any(_is_scrambled(run) for run in runs) or _has_signs(value)):
        return True
    return not _is_wordy(runs)


def is_credential(value: str) -> bool:
    """Whether the value after ``Authorization: Bearer`` or ``Basic`` is more than a word."""
    if len(value) < 8 or is_placeholder(value):
        return False
    mixed = value[1:] != value[1:].lower() and value != value.upper()
    return mixed or (
        any(letter.isdigit() for letter in value) and not _is_wordy(_RUN.findall(value))
    )


def is_evident(value: str) -> bool:
    """Whether ``value`` is random: no word, but letters of both cases and digits."""
    return (
        is_secret(value, "code", password=False)
        and any(letter.isdigit() for letter in value)
        and value != value.lower()
        and value != value.upper()
    )


def _is_wordy(runs: list[str]) -> bool:
    return all(_WORD.fullmatch(run) or _NUMBERED_WORD.fullmatch(run) for run in runs)


def _has_signs(value: str) -> bool:
    """Whether words of both cases and signs are mixed as only in a password."""
    return (
        len(value) >= _MIN_SIGNED_CHARS
        and value.lower() != value != value.upper()
        and len(_SIGNS.findall(value)) + any(letter.isdigit() for letter in value) >= 2
        and _SIGNS.search(value) is not None
    )


def _is_scrambled(run: str, shortest: int = 16) -> bool:
    """Whether ``run`` has only letters, but too many or too many capitals for a word."""
    if len(run) < shortest or not run.isalpha():
        return False
    flips = sum(one.isupper() != two.isupper() for one, two in pairwise(run))
    return flips >= 0.38 * len(run) or (flips == 0 and len(run) >= 24)
