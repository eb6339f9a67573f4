"""Secrets known by their form: three sets of rules, read by one matcher (ADR 0018).

The rules are those of Kingfisher, which has Betterleaks' (the successor of gitleaks) and Veles',
those of CredSweeper (``data/credsweeper.toml``), and ours (``data/tokens.toml``). Kingfisher's
matcher is linear in the text, releases the interpreter's lock and never uses the network. The
rules are compiled at the first call; Kingfisher keeps the compiled form in the user's cache. A
worker begins with that after its first searches, and what runs in its event loop awaits ``ready``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from mem_search.patterns import pattern

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

_DATA: Final = Path(__file__).parent / "data"
_FILES: Final = (_DATA / "credsweeper.toml", _DATA / "tokens.toml")


# Most rules ask for a blank, a quote or the end of the line behind a token. So the text is read
# again with ";" for other signs, which they take as an end. Signs that also stand between a name
# and its value are only replaced in the last reading, in which tokens are known without a name.
def _ending(signs: str) -> bytes:
    """A table that replaces ``signs`` and control characters, but for blanks, by a semicolon."""
    return bytes(
        ord(";") if chr(code) in signs or (code < 32 and chr(code) not in "\t\n\r") else code
        for code in range(256)
    )


_ENDS: Final = _ending("!#$%&()*,.<?@[]^{|}~")
_ALL_ENDS: Final = _ending("!#$%&()*,.<?@[]^{|}~+/:=>")
_DASH: Final = pattern(rb"-(?<=[A-Za-z0-9]{16}-)")
_NAME: Final = pattern(r".*[./](?=[^./]*[a-z])|[.-][0-9]+\Z")
"""What is no part of the name of a rule: its set before, its number behind."""

MIN_RUN_CHARS: Final = 16
"""Characters of words in a row: a text without so many is not looked at, and waits for no rules."""

_loading = Lock()


def load() -> tuple[Scanner, Scanner]:
    """The scanner, and one that decodes no Base64. The first call compiles the rules, which others
    wait for: .5 s of a processor, and some seconds where Kingfisher has no compiled form yet.
    """
    # Kingfisher keeps the interpreter's lock while one thread waits for another that compiles.
    with _loading:
        return _loaded()


def are_loaded() -> bool:
    """Whether nobody has to wait for the rules any more."""
    return _loaded.cache_info().currsize > 0


async def ready() -> None:
    """Wait until the rules are compiled, in one thread for all that wait.

    It has no lower priority: on a busy machine imports would wait for it twice as long (ADR 0018).
    """
    if not are_loaded():
        await asyncio.shield(asyncio.wrap_future(_compiling()))


@cache
def _compiling() -> Future[None]:
    compiled: Future[None] = Future()

    def compile_rules() -> None:
        try:
            load()
        except Exception as error:  # noqa: BLE001  whoever waits raises it
            compiled.set_exception(error)
        else:
            compiled.set_result(None)

    # No thread of a pool: a worker that is stopped meanwhile need not wait for it.
    Thread(target=compile_rules, name="secret-rules", daemon=True).start()
    return compiled


@cache
def fingerprint() -> str:
    """Of the rules that are files of ours."""
    return sha256(b"".join(file.read_bytes() for file in _FILES)).hexdigest()[:8]


@cache
def _loaded() -> tuple[Scanner, Scanner]:
    from kingfisher_sdk import Rules, Scanner  # compiles hundreds of rules: only when needed

    rules = Rules(_FILES)
    return Scanner(rules), Scanner(rules, base64=False)


def spans(text: str) -> list[tuple[int, int, str]]:
    """(start, end, name of the rule) of each secret; may overlap.

    Our rules come first, then CredSweeper's: they ask least of what surrounds a token, so it has
    the same name wherever it stands.
    """
    data = text.encode("ascii", "replace")  # a byte for each character: places stay the same
    scanner, plain = load()
    secrets = [*_scanned(scanner, data)]
    for ends in (_ENDS, _ALL_ENDS):
        if (read := _DASH.sub(b";", data.translate(ends))) != data:
            secrets += _scanned(plain, read)
    secrets.sort(key=lambda each: (not each[2].startswith("custom."), each[2].count(".")))
    return [(start, end, _NAME.sub("", rule)) for start, end, rule in secrets]


def _scanned(scanner: Scanner, data: bytes) -> Iterator[tuple[int, int, str]]:
    for finding in scanner.scan(data):
        if finding.visible:
            location = finding.location
            start, end = location["start_offset"], location["end_offset"]
            # A rule may match the name of a value as well; only the value is the secret.
            within = data.find(secret := finding.secret.encode(), start, end)
            if within >= 0:
                start, end = within, within + len(secret)
            yield start, end, finding.rule_id
