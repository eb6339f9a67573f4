"""Redaction removes secrets and nothing else, in linear time.

Every planted secret is put together here at run time, so that no scanner takes this file for
a leak; none of them was ever valid.
"""

from __future__ import annotations

import random
import string
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text import redaction
from mem_search.text.redaction import redact

ALNUM = string.ascii_letters + string.digits


def noise(length: int, letters: str = ALNUM) -> str:
    """The same letters in every run; more than a few, so that they are no placeholder."""
    return "".join(random.Random(length).choices(letters, k=length))


HEX = noise(32, "0123456789abcdef")
PEM_BODY = "\n".join(noise(64 - i) for i in range(4))

# kind -> (what stands around it, with one {} for the secret; the secret)
PLANTED = {
    "aws access key": ("id {} here", "AKIA" + noise(16, string.ascii_uppercase)),
    "aws session key": ("{}", "ASIA" + noise(16, string.ascii_uppercase)),
    "aws secret, file": ("aws_secret_access_key = {}", noise(40, ALNUM + "/+")),
    "aws secret, env": ("export AWS_SECRET_ACCESS_KEY={}", noise(40)),
    "github classic": ("remote uses {} now", "ghp_" + noise(36)),
    "github oauth": ("{}", "gho_" + noise(36)),
    "github user": ("{}", "ghu_" + noise(36)),
    "github server": ("{}", "ghs_" + noise(36)),
    "github refresh": ("{}", "ghr_" + noise(36)),
    "github fine-grained": ("{}", "github_" + "pat_" + noise(22) + "_" + noise(59)),
    "gitlab": ("{}", "glpat-" + noise(20)),
    "slack bot": ("{}", "xoxb-" + noise(12, string.digits) + "-" + noise(24)),
    "slack webhook": ("POST {}", "https://hooks." + "slack.com/services/T0/B0/" + noise(24)),
    "openai": ("{}", "sk-" + noise(48)),
    "openai project": ("{}", "sk-" + "proj-" + noise(60) + "_" + noise(20)),
    "anthropic": ("{}", "sk-" + "ant-api03-" + noise(80) + "-" + noise(8)),
    "google": ("?k={}", "AI" + "za" + noise(35)),
    "stripe live": ("{}", "sk_" + "live_" + noise(24)),
    "stripe restricted": ("{}", "rk_" + "live_" + noise(24)),
    "npm": ("//registry.example.org/:_authToken={}", "npm_" + noise(36)),
    "pypi": ("{}", "pypi-" + "AgEIcHlwaS5vcmc" + noise(80)),
    "huggingface": ("login({})", "hf_" + noise(34)),
    "jwt": ("cookie {}; path", "eyJ" + noise(30) + ".eyJ" + noise(40) + "." + noise(43)),
    "pem": (
        "{}",
        f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{PEM_BODY}\n-----END RSA PRIVATE {'KEY'}-----",
    ),
    "pem in one line": ('"{}"', f"-----BEGIN PRIVATE {'KEY'}-----\\n{noise(64)}\\n{noise(40)}"),
    "login in a url": ("postgres://app:{}@db/main", "s3cret" + "Pw"),
    "curl login": ("curl -u admin:{} https://x", "tr1cky" + "One"),
    "bearer header": ("Authorization: Bearer {}", noise(30)),
    "bearer in json": ('{{"Authorization": "Bearer {}"}}', HEX),
    "basic header": ("-H 'authorization: Basic {}'", "dXNlcjpw" + "YXNzd29yZA=="),
    "password, quoted": ('password = "{}"', "hunter2" + "hunter2"),
    "password, yaml": ("password: {}", "Tr0ub4dor" + "&3"),
    "password, env": ("DB_PASSWORD={}", "hunter" + "2"),
    "password, symbols": ("passwd='{}'", "P@ss" + "word!x"),
    "password, annotated": ('password: str = "{}"', "s3cr3t-value"),
    "password, cut off": ('password = "{}', "hunter2" + "hunter2"),
    "api key, env": ("API_KEY={}", HEX),
    "api key, camel case": ("apiKey: '{}',", noise(24)),
    "api key, item": ('os.environ["API_KEY"] = "{}"', noise(24)),
    "api key, header": ("X-Api-Key: {}", HEX),
    "secret, escaped json": ('{{\\"client_secret\\": \\"{}\\"}}', noise(24)),
    "token, option": ("deploy --token {} --force", noise(20)),
    "token, query": ("https://x/y?access_token={}&page=2", noise(24)),
    "token, compared": ('if token == "{}":', noise(24)),
    "private block": ("a <private>{}</private> b", "the door code is one two three"),
    "private, any case": ("<PRIVATE>{}</Private>", "my salary"),
    "private, nested": ("<private>a<private>b</private>{}</private>", "still inside"),
    "private, not closed": ("before <private> {}", "and all the rest"),
    "behind an escaped line break": ("line\\n{}\\n", "ghp_" + noise(36)),
}

INNOCENT = """\
commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
see 9f86d08 and 3bf4f1b2b0b8
sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 of the file
token: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
request 550e8400-e29b-41d4-a716-446655440000 failed
password = get_password()
password=password
token: str
token: Optional[str] = None
let token = UInt64(3)
password: string | null
password = os.environ["DB_PASSWORD"]
const token = process.env.GITHUB_TOKEN
API_KEY=${API_KEY}
API_KEY=<your-key>
API_KEY=your-api-key-here
X-Api-Key: {key}
password: "changeme"
password: "Please enter 8 characters"
secret: xxxxxxxxxxxx
secret: my-app-secret-v2
secretName: "my-tls-secret-2024"
token = tokens[0]
token = self.token2
api_key=settings.api_key_v2
private_key: Ed25519PrivateKey
"secret": "V1SecretVolumeSource",
max_tokens: 128000
token_count = 1234567
PWD=/home/user/proj-3f2a9c8d
key_file: /etc/ssl/private/server-01.key
if token == "refresh":
the secret is that ghp_ tokens and hf_ tokens have a prefix
sk-learn-and-other-names-in-kebab-case
npm_config_registry=https://registry.example.org
hf_transfer_enabled_for_all_the_models = True
https://user@example.com/x and https://example.com/a:b@c
postgres://user:password@localhost/db
git clone git@github.com:a/b.git
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Basic authentication is used
"-----BEGIN PRIVATE KEY-----" in text or "-----END PRIVATE KEY-----" in text
-----BEGIN CERTIFICATE-----
Put what is private between `<private>` and `</private>`
src/mem_search/text/redaction.py:12: note: 密码 = パスワード 🎉
""".splitlines()


@pytest.mark.parametrize("sign", ["\u00ad", "\u200b", "\u2060", "\ufeff"])
def test_a_secret_with_signs_that_nobody_sees_is_one(sign: str) -> None:
    secret = "ghp_" + noise(36)
    hidden = f"{secret[:12]}{sign}{secret[12:30]}{sign}{secret[30:]}"
    assert redact(f"the tokén {hidden} opens it") == (
        "the tokén [redacted:github-token] opens it",
        1,
    )


def test_a_secret_in_full_width_is_one() -> None:
    secret = "ghp_" + noise(36)
    wide = "".join(chr(ord(char) + 0xFEE0) if char != "_" else "＿" for char in secret)
    assert redact(f"it is {wide} here") == ("it is [redacted:github-token] here", 1)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_removed_and_its_surroundings_remain(name: str) -> None:
    template, secret = PLANTED[name]
    clean, count = redact(f"before\n{template.format(secret)}")
    assert secret not in clean
    assert secret[-12:] not in clean
    assert count == 1
    assert clean.startswith("before\n")
    assert "[redacted:" in clean
    assert redact(clean) == (clean, 0)


@pytest.mark.parametrize("line", INNOCENT)
def test_an_innocent_line_is_left_alone(line: str) -> None:
    assert redact(line) == (line, 0)


def test_the_tables_are_as_long_as_they_have_to_be() -> None:
    assert len(PLANTED) >= 25
    assert len(INNOCENT) >= 30


def test_every_secret_of_a_text_is_found_and_counted() -> None:
    text = "\n".join(
        template.format(secret)
        for name, (template, secret) in PLANTED.items()
        if name != "private, not closed"
    )
    clean, count = redact(text)
    assert count == len(PLANTED) - 1
    assert not [name for name, (_, secret) in PLANTED.items() if secret in clean]
    assert redact(clean) == (clean, 0)


def test_a_marker_names_the_kind_and_the_rest_of_the_line_stays() -> None:
    secret = noise(24)
    assert redact(f'x = 1\napi_key = "{secret}"  # y') == (
        'x = 1\napi_key = "[redacted:secret]"  # y',
        1,
    )


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ", "-eyJ", "eyJaaaaaaa.", "pwd=", 'pwd="', "pwd='pwd=\"", "pwd=1a2a3", "token : a",
        "token=a&", "token='a1b2c3d4 ", "--password ", "://", "://a:b", "<private>", "<private ",
        "</private>", "-----BEGIN PRIVATE KEY-----", "-", " ", "a", "\\", "\n", '"', "curl -u ",
        "authorization: bearer ", "bearer ", "AKIA", "sk-ant-", "xoxb-", "hooks.slack.com/",
        "漢🎉İ", "\ud800",
    ],
)  # fmt: skip
def test_an_adversarial_text_is_done_in_linear_time(unit: str) -> None:
    text = (unit * 200_000)[:200_000]
    clean, _ = redact(text)
    assert redact(clean) == (clean, 0)


PIECES = st.sampled_from(
    [
        *(template.format(secret) for template, secret in PLANTED.values()),
        *(secret for _, secret in PLANTED.values()),
        *INNOCENT,
        *(
            "password",
            "token",
            "API_KEY",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            "&",
            "@",
            "://",
            "[",
            "(",
            "]",
        ),
        *(
            "<private>",
            "</private>",
            "bearer ",
            "--secret ",
            "a1b2c3d4e5",
            "\n",
            " ",
            "-",
            "İ",
            "ſ",
        ),
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=8).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    clean, count = redact(text)
    assert redact(clean) == (clean, 0)
    assert (count == 0) == (clean == text)


@given(st.text())
def test_any_text_comes_through(text: str) -> None:
    clean, count = redact(text)
    assert (count == 0) == (clean == text)


@pytest.mark.parametrize("before", ["", "here"])
def test_a_secret_glued_to_another_is_found(before: str) -> None:
    secrets = [secret for _, secret in PLANTED.values()]
    for one, two in product(secrets, repeat=2):
        clean, _ = redact(f"{before}{one}{two}")
        assert redact(clean) == (clean, 0)


def test_two_secrets_side_by_side_are_both_found() -> None:
    lines = [
        (one, two)
        for (_, one), (_, two) in product(PLANTED.values(), repeat=2)
        if one.startswith(("ghp_", "sk-", "AKIA")) and two.startswith(("ghp_", "sk-", "AKIA"))
    ]
    assert lines
    for one, two in lines:
        assert redact(f"{one} {two}")[1] == 2


def test_spans_that_touch_are_two_secrets_and_spans_that_overlap_are_one() -> None:
    def mark(kind: str, secret: str) -> str:
        return f"<{kind} {secret}>"

    assert redaction._replaced("abcd", [(0, 2, "x"), (2, 4, "y")], mark) == ("<x ab><y cd>", 2)
    assert redaction._replaced("abcd", [(0, 3, "x"), (2, 4, "y")], mark) == ("<x abcd>", 1)


def test_a_name_that_comes_again_is_looked_through_once_and_a_text_is_not_kept() -> None:
    path, text = f"src/{noise(20)}.py", f"{noise(60)}\n" * 10
    before = redaction._redacted_name.cache_info()
    assert [redact(path), redact(path), redact(text)] == [(path, 0), (path, 0), (text, 0)]
    after = redaction._redacted_name.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 1)


def test_a_secret_in_the_colours_of_a_terminal_is_found() -> None:
    text, count = redact("password: \x1b[1mK9xyz9Qq\x1b[0m and more")
    assert (text, count) == ("password: \x1b[1m[redacted:password]\x1b[0m and more", 1)
