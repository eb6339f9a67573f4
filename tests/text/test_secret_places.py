"""A secret is found by its place: behind any sign, in a URL, a header, a command, a sentence."""

from __future__ import annotations

import string

import pytest

from mem_search.text.redaction import Redaction, redact, redacted_values
from secret_shapes import SHAPES, Shape
from secret_shapes_named import NAMED
from secret_shapes_unseen import UNSEEN

ALONE = {
    name: shape
    for name, shape in {**SHAPES, **NAMED, **UNSEEN}.items()
    if shape.template == "{}" and "\n" not in shape.secret and name != "adafruit"
}
"""Known alone; the key of Adafruit is not, without its name."""

REDACTION = Redaction(b"a key")
SIGNS = string.punctuation.replace("\\", "").replace("_", "") + " \t\n\r\x1b\0«»„“。、—…🎉"
OF_TOKENS = "-+/=.,"
"""Signs that some tokens have, so that what follows may be taken for a part of them."""


@pytest.mark.parametrize("name", ALONE)
def test_any_sign_ends_a_token(name: str) -> None:
    secret = ALONE[name].secret
    for sign in SIGNS:
        clean, _ = redact(f"see ({secret}{sign}next")
        assert secret not in clean, repr(sign)
        assert sign in OF_TOKENS or clean.endswith(f"{sign}next"), repr(sign)


@pytest.mark.parametrize("name", ALONE)
def test_a_token_is_the_same_name_whatever_surrounds_it(name: str) -> None:
    secret = ALONE[name].secret
    around = ("{}", "({})", "x={} y", "{}|", "<b>{}</b>", "see {}: it is", "[{}]")
    names = set()
    for each in around:
        before, after = each.split("{}")
        name_there = REDACTION.name(each.format(secret))
        assert name_there.startswith(before)
        names.add(name_there.removeprefix(before).removesuffix(after))
    assert len(names) == 1


PASSWORD = "q" + "Tz81mLw" + "9x"
TOKEN = "aB3dE5gH7jK9" * 2


@pytest.mark.parametrize(
    "text",
    [
        f"https://ada:{PASSWORD}@example.com/a.git",
        f"Author: Ada <https://ada:{PASSWORD}@example.com>",
        f"origin\thttps://oauth2:{PASSWORD}@git.example.com/a.git (fetch)",
        f"postgres://app:{PASSWORD}@db/main",
        f"redis://:{PASSWORD}@cache:6379/0",
        f"amqp://guest:{PASSWORD}@mq//",
        f"mongodb+srv://app:{PASSWORD}@cluster.example.net",
        f"smtp://ada%40example.com:{PASSWORD}@mail:587",
        f"ssh://ada:{PASSWORD}@host/a",
        f"ftp://ada:{PASSWORD}@host/a",
        f"https%3A%2F%2Fada%3A{PASSWORD}%40example.com",
        f"https://{TOKEN}@github.com/a/b",
        f"https://{TOKEN}:x-oauth-basic@github.com/a/b",
    ],
)
def test_what_stands_before_the_host_of_a_url_is_a_secret(text: str) -> None:
    clean, count = redact(text)
    assert count
    assert PASSWORD not in clean
    assert TOKEN not in clean
    assert redact(clean) == (clean, 0)


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:ada/tools.git and ssh://git@github.com/ada/tools.git",
        "https://ada@example.com/a and ada@example.com",
        "Author: Ada Lovelace <ada.lovelace@users.noreply.example.com>",
        "https://ada-lovelace-of-london@example.com/a",
        "password = getpass.getpass()",
        'token = request.headers["Authorization"]',
        "def login(self, username: str, password: str | None = None) -> bool:",
        'parser.add_argument("--password", help="of the server")',
        'os.environ["API_TOKEN"] = token',
        "the password is required and the token was rotated",
        "das Passwort ist falsch; le mot de passe est requis; la contraseña es incorrecta",
        "пароль: обязателен",
        "kind: Secret\nmetadata:\n  name: db\ntype: Opaque\n",
        "kind: ConfigMap\ndata:\n  color: blue\n",
        "| name | description |\n|---|---|\n| password | of the user v2 |",
        "docker login -u ada -p $PASSWORD registry.example.com",
        "mysql -u root -p main",
        "mysql -h db -P 3306 -p",
        "curl -u ada https://example.com",
        "Set-Cookie: theme=dark; Path=/; Max-Age=3600",
        "Cookie: consent=yes; lang=de-DE",
        "Authorization: required for every route of the API",
        "<password>${db.password}</password>",
        '<input type="password" name="pw" placeholder="Your password">',
        'variable "db_password" {\n  type = string\n  sensitive = true\n}',
        "https://example.com/a?sig=short&signature=none",
        "aws configure set region eu-central-1",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db",
        "AKIAIOSFODNN7" + "EXAMPLE",
        "class DES_ks(Union):\n    pass\nN6DES_ks3DOLLAR_9E._fields_ = []",
        "pass: 123456 fail: 7",
        "tool toolu_01A9bC8dE7fG6hI5jK4lM3nO2 of msg_01B8cD7eF6gH5iJ4kL3mN2oP1",
        'HEX_PAT = "[0-9A-Fa-f]{1,4}"',
    ],
)
def test_ordinary_text_about_secrets_stays(text: str) -> None:
    assert redact(text) == (text, 0)


@pytest.mark.parametrize("name", sorted(NAMED.keys() | UNSEEN.keys()))
def test_it_is_removed_once_and_what_surrounds_it_remains(name: str) -> None:
    shape: Shape = {**NAMED, **UNSEEN}[name]
    clean, count = redact(f"before {shape.text} after")
    if name == "adafruit":  # known by its name alone
        clean, count = redact(f"ADAFRUIT_IO_KEY={shape.text} after")
        clean = f"before {clean}"
    assert shape.secret not in clean
    assert count >= 1
    assert (clean[:7], clean[-6:]) == ("before ", " after")
    assert redact(clean) == (clean, 0)


def test_a_json_schema_about_passwords_stays() -> None:
    schema = {"password": {"type": "string", "minLength": 12, "title": "Password"}}
    assert redacted_values(schema) == schema
