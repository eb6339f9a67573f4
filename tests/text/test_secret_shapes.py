"""Secrets of many services are found however they are written, and what looks alike stays."""

from __future__ import annotations

import base64
import hashlib
import html
import quopri
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from mem_search.text.redaction import Redaction, redact, redacted_values
from secret_shapes import SHAPES, shapes

REPOSITORY = Path(__file__).parents[2]


def _percent(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" for letter in text)


WRITTEN: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "percent signs": (_percent, unquote),
    "percent signs, twice": (lambda x: quote(_percent(x)), lambda x: unquote(unquote(x))),
    "entities": (lambda text: "".join(f"&#x{ord(c):x};" for c in text), html.unescape),
    "entities, decimal": (lambda text: "".join(f"&#{ord(c)};" for c in text), html.unescape),
    "html": (html.escape, html.unescape),
    "unicode escapes": (
        lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
        lambda text: text.encode("ascii", "ignore").decode("unicode_escape"),
    ),
    "quoted-printable": (
        lambda text: quopri.encodestring(text.encode()).decode(),
        lambda text: quopri.decodestring(text.encode()).decode(),
    ),
}


def test_there_are_at_least_sixty_shapes() -> None:
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("name", SHAPES)
def test_a_secret_is_removed_and_the_text_around_it_remains(name: str) -> None:
    for seed in range(1, 4):
        shape = shapes(seed)[name]
        if shape.template == "{}":  # known alone, also as the name of a file
            assert shape.secret not in redact(f"in/{shape.secret}.jsonl")[0]
        clean, count = redact(f"before {shape.text} after")
        assert shape.secret not in clean
        assert shape.secret[-10:] not in clean
        assert count == 1
        assert (clean[:7], clean[-6:]) == ("before ", " after")
        assert redact(clean) == (clean, 0)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("name", SHAPES)
def test_it_is_found_in_escapes_and_nothing_else_is_lost(name: str, written: str) -> None:
    write, read = WRITTEN[written]
    shape = SHAPES[name]
    clean, _ = redact(f"é before {write(shape.text)} after é")
    assert "[redacted:" in clean
    assert shape.secret not in read(clean)
    assert (clean[:9], clean[-8:]) == ("é before ", " after é")
    assert redact(clean) == (clean, 0)


BY_NAME = {
    "netrc", "env file", "env api key", "postgres url", "mongodb url", "aws secret key",
    "ado connection string", "bearer header", "basic header", "azure storage key",
}  # fmt: skip
"""Known only by what stands before them: of two lines, they are known in the first alone."""


@pytest.mark.parametrize("fold", ["\n", "\n  ", "\r\n\t", "\\\n", "=\r\n"])
@pytest.mark.parametrize("name", sorted(SHAPES.keys() - BY_NAME))
def test_it_is_found_in_two_lines(name: str, fold: str) -> None:
    shape = SHAPES[name]
    middle = len(shape.secret) // 2
    clean, _ = redact(shape.template.format(shape.secret[:middle] + fold + shape.secret[middle:]))
    assert shape.secret not in clean.replace(fold, "")


@pytest.mark.parametrize("name", SHAPES)
def test_names_with_different_secrets_stay_different(name: str) -> None:
    redaction = Redaction(b"a key")
    one, two = (f"p/{shapes(seed)[name].text}" for seed in (1, 2))
    assert shapes(1)[name].secret not in redaction.name(one)
    assert redaction.name(one) == redaction.name(one)
    assert redaction.name(one) != redaction.name(two)
    assert redaction.name(one) != Redaction(b"another key").name(one)
    assert redaction.name(redaction.name(one)) == redaction.name(one)


SECRET = "Xk9$" + "mQ2vLp7w"
ORDINARY = "winterblume"


@pytest.mark.parametrize(
    "value",
    [
        {"password": SECRET},
        {"dbPassword": SECRET},
        {"a": [{"b": {"client_secret": SECRET}}]},
        {"passwords": [SECRET]},
        {"credentials": {"first": SECRET}},
        {"env": [{"name": "DB_PASSWORD", "value": SECRET}]},
        {"name": "DB_PASSWORD", "value": SECRET},
        {"API-KEY": SECRET},
        {"note": f"password={SECRET}"},
        {SHAPES["github pat"].text: 1, "x": SECRET[:3]},
        {"password": 84729103},
        {"client_secret": ORDINARY},
        {"authToken": ORDINARY},
        {"private-key": [ORDINARY]},
        {"deep": {"dbPassword": ORDINARY}},
    ],
)
def test_metadata_is_judged_by_name_and_value(value: dict[str, object]) -> None:
    for secret in (SECRET, SHAPES["github pat"].secret, "84729103", ORDINARY):
        assert secret not in str(redacted_values(value))
    assert redacted_values(redacted_values(value)) == redacted_values(value)


@pytest.mark.parametrize(
    "value",
    [
        {"password": "required"},
        {"password": None, "token": "", "max_tokens": 128000, "secret": True},
        {"token_count": 84729103, "password_length": 12},
        {"key": "value", "name": "value", "value": "key"},
        {"path": ["src/password_reset.py"], "author": "Ada Lovelace"},
        {"token": "${TOKEN}"},
        {"auth_token": "expired", "password": "bcrypt", "api_key": "<your-key>"},
        {"properties": {"password": {"type": "string", "description": "typed"}}},
        {"private_key": "/etc/ssl/server.key", "access_token": "process.env.TOKEN"},
    ],
)
def test_innocent_metadata_stays(value: dict[str, object]) -> None:
    assert redacted_values(value) == value


def test_two_secret_keys_of_metadata_stay_two() -> None:
    value = {shapes(seed)["github pat"].text: seed for seed in (1, 2)}
    assert sorted(redacted_values(value).values()) == [1, 2]


def _innocent() -> dict[str, str]:
    rng = random.Random(7)
    words = "the index of a query reads some rows and sorts them before it answers".split()
    return {
        "sha1": "\n".join(hashlib.sha1(rng.randbytes(8)).hexdigest() for _ in range(500)),
        "sha256": "\n".join(f"sha256:{hashlib.sha256(rng.randbytes(8)).hexdigest()}"
                            for _ in range(500)),
        "uuids": " ".join(str(uuid.UUID(bytes=rng.randbytes(16))) for _ in range(500)),
        "commits": "\n".join(f"commit {rng.randbytes(20).hex()}\n    fix {rng.choice(words)}"
                             for _ in range(300)),
        "image": "data:image/png;base64," + base64.b64encode(rng.randbytes(60_000)).decode(),
        "image in lines": base64.encodebytes(rng.randbytes(60_000)).decode(),
        "prose": " ".join(rng.choice(words) for _ in range(20_000)),
        "wrapped prose": "\n".join(" ".join(rng.choice(words) for _ in range(12))
                                   for _ in range(2_000)),
        "urls": "\n".join(f"https://example.org/{rng.choice(words)}?id={rng.randrange(10**9)}"
                          f"&page=2&hash={rng.randbytes(16).hex()}" for _ in range(300)),
        "identifiers": "\n".join("_".join(rng.choices(words, k=6)) for _ in range(500)),
        "lock file": "\n".join(f"    --hash=sha256:{rng.randbytes(32).hex()} \\"
                               for _ in range(300)),
        "test vectors": "AKIA" + "IOSFODNN7EXAMPLE and 000102030405060708090a0b0c0d0e0f "
                        "0123456789abcdef0123456789abcdef deadbeefdeadbeefdeadbeefdeadbeef",
    }  # fmt: skip


@pytest.mark.parametrize("name", _innocent())
def test_what_looks_alike_stays(name: str) -> None:
    text = _innocent()[name]
    assert redact(text) == (text, 0)


def test_the_own_source_and_documents_stay() -> None:
    changed = {}
    for folder, pattern in (("src", "*.py"), ("docs", "*.md"), ("plugin", "*.md")):
        for file in sorted((REPOSITORY / folder).rglob(pattern)):
            text = file.read_text("utf-8")
            if (clean := redact(text)[0]) != text:
                changed[file.name] = [
                    new
                    for old, new in zip(text.split("\n"), clean.split("\n"), strict=False)
                    if old != new
                ][:3]
    assert changed == {}
