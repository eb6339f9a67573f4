"""Secrets that are words: passphrases, seed phrases, PINs; keys and signatures among words."""

from __future__ import annotations

import pytest

from mem_search.text.redaction import redact, redacted_values

ZOO = "zoo " * 11 + "wrong"
LEGAL = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ('passphrase: "', "correct horse battery staple", '"'),
        ("export GPG_PASSPHRASE='", "a b c d", "'"),
        ('{"password": "', "two words", '"}'),
        ('smtp_password = "', "abcd efgh ijkl mnop", '"  # of the app'),
        ('{\\"passphrase\\": \\"', "seven grey cats asleep", '\\"}'),
        ('Passwort: "', "drei kleine graue Katzen", '"'),
        ('mot de passe: "', "petit chat gris dort", '"'),
        ("WLAN-Schlüssel: ", "Sommerregen2024", ""),
        ("Netzwerkschlüssel: ", "58293847561029384756", ", notiert"),
        ("Clé WiFi : ", "A1B2C3D4E5", ""),
        ("Kennwort: ", "Katze-und-Hund7", ""),
        ("contraseña: ", "sol-y-luna9", ""),
        ("PIN: ", "4711", ", bitte merken"),
        ("Karten-PIN = ", "471188", ""),
        ("die PIN ist ", "4711", "."),
        ("PUK: ", "12345678", "\n"),
        ("seed phrase: ", ZOO, ""),
        ("Mnemonic (12 words):\n", LEGAL, "\nKeep it."),
        ('mnemonic = "', LEGAL, '"'),
        ("my recovery phrase is ", LEGAL, " and the rest"),
        ("recovery phrase:\n", "1. " + LEGAL.replace(" ", "\n2. "), ""),
        ('"seed": ["', LEGAL.replace(" ", '", "'), '"]'),
        ("Wiederherstellungsphrase: ", f"{LEGAL} {LEGAL}", ""),
        ("https://a.blob.core.windows.net/c?sv=2022-11-02&se=2026-12-31&sig=",
         "abcdefghijkl%2Bmnopqrst%2Fuvw%3D", ""),
        ("https://a.blob.core.windows.net/c?sig=", "q83vEjRWeJCrze8SNFZ4kA%3D%3D", "&amp;se=1"),
        ("SharedAccessSignature sr=https%3a%2f%2fns&sig=", "dGhpc2lzYXNpZ25hdHVyZQ%3d%3d", "&se=1"),
    ],
)  # fmt: skip
def test_a_secret_of_words_is_redacted_and_what_surrounds_it_stays(
    before: str, secret: str, after: str
) -> None:
    clean, count = redact(before + secret + after)
    assert count
    assert clean.startswith(before)
    assert clean.endswith(after)
    assert secret not in clean
    assert "[redacted:" in clean[len(before) :]
    assert redact(clean) == (clean, 0)


@pytest.mark.parametrize(
    "text",
    [
        '"password": "Enter your password"',
        '"password": "Mot de passe"',
        '"password": "Neues Kennwort"',
        '"password": "Sign in"',
        '"password": "Too short"',
        '"password": "At least 8 characters"',
        '"password": "The user\'s login"',
        '"password": "Hashed value"',
        '"password": "required string"',
        '"passphrase": "is wrong, try it again"',
        'password: "${DB_PASSWORD} of it"',
        'help(password="<the one of the wallet>")',
        "print('password:', name, 'user')",
        "The seed phrase: keep it in a safe place, and never give it to anyone who asks for it.",
        "A mnemonic is a word or phrase that helps people remember something for a very long time",
        "seed: 42",
        "recovery phrase: twelve words that only you know and that nobody else may ever have seen",
        "PIN: 13 of the board",
        "#define LED_PIN 1234",
        "SPIN: 4711",
        "PIN: 2026-11-30",
        "sig=abcdefghijklmnopqrstuvwx",
        "config=verylongnameofaconfiguration&se=1",
        "Schlüssel: Sommerregen2024",
        "Die Private-Lines: sind im Schlüssel der Teil vor Private-MAC.",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == (text, 0)


def test_a_passphrase_is_known_by_its_key_in_metadata() -> None:
    clean = redacted_values(
        {"password": "two words", "note": "two words", "passphrase": "is wrong"}
    )
    assert clean == {
        "password": "[redacted:password]", "note": "two words", "passphrase": "is wrong",
    }  # fmt: skip


@pytest.mark.parametrize("line", ["{}", "> {}", "    {}", "12\t{}", "| {}"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n"])
def test_a_key_of_putty_is_redacted_however_its_lines_are_quoted(line: str, end: str) -> None:
    public = "AAAAB3NzaC1yc2EAAAABJQAAAQEAhqwJx"
    private = ("AAABAE3pQk4Iy5qzz6oTQ1oDUuZEO6tQ", "AAAAgQDcV0aXQ9EcDvmGEgyH3wHvpLs8", "Zm9v")
    mac = "6f8a5c1d2e3b4a5968778695a4b3c2d1e0f1a2b3"
    lines = (
        "PuTTY-User-Key-File-2: ssh-rsa", "Encryption: none", "Public-Lines: 1", public,
        "Private-Lines: 3", *private, f"Private-MAC: {mac}", "the end",
    )  # fmt: skip
    clean, count = redact(end.join(line.format(each) for each in lines))
    assert count == 1
    assert public in clean
    assert "the end" in clean
    assert not any(each in clean for each in (*private, mac))
