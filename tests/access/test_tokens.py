"""Tokens: created, recognised, expired, revoked; only their hashes are stored."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mem_search.access.tokens import PREFIX, Tokens, digest
from mem_search.errors import Conflict, InputError, NotFound, Unauthorized
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.text.redaction import redact

DAY = 86_400_000


class Clock:
    """Milliseconds that move when they are told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(store: SqliteStore, clock: Clock) -> Tokens:
    return Tokens(store.tokens, clock)


async def test_a_token_says_whose_it_is_and_what_it_may(tokens: Tokens) -> None:
    token, secret = await tokens.create("laptop", user="ada", read_only=True)
    caller = await tokens.caller(secret)
    assert caller is not None
    assert (caller.user, caller.token, caller.may_change) == ("ada", "laptop", False)
    assert caller.is_known
    assert not caller.owns_home
    assert token.expires_at is None
    assert await tokens.caller(secret + "x") is None
    assert await tokens.caller("") is None
    assert await tokens.caller("\udc80") is None


async def test_the_secret_is_long_random_and_not_kept(tokens: Tokens, store: SqliteStore) -> None:
    made = [await tokens.create(f"t{number}", user="ada") for number in range(3)]
    secrets = {secret for _, secret in made}
    assert len(secrets) == 3
    assert all(secret.startswith(PREFIX) and len(secret) == len(PREFIX) + 43 for secret in secrets)
    for file in Path(store.location).parent.iterdir():
        content = file.read_bytes()
        assert not any(secret.encode() in content for secret in secrets)
    kept = {token.digest for token in await store.tokens.all()}
    assert kept == {hashlib.sha256(secret.encode()).digest() for secret in secrets}
    assert all(digest(secret) in kept for secret in secrets)


async def test_a_token_in_a_transcript_is_redacted(tokens: Tokens) -> None:
    _, secret = await tokens.create("laptop", user="ada")
    text, count = redact(f"I ran curl with {secret} and it worked")
    assert (secret in text, count) == (False, 1)


async def test_an_expired_token_says_so_and_opens_nothing(tokens: Tokens, clock: Clock) -> None:
    token, secret = await tokens.create("laptop", user="ada", expires="90d")
    assert token.expires_at == clock.now + 90 * DAY
    clock.now += 90 * DAY - 1
    assert await tokens.caller(secret) is not None
    clock.now += 1
    with pytest.raises(Unauthorized, match="laptop has expired at 2024-02-12"):
        await tokens.caller(secret)


@pytest.mark.parametrize(("text", "days"), [("12h", 0.5), ("1d", 1), ("4w", 28), (" 3d ", 3)])
async def test_expiry_is_in_hours_days_or_weeks(
    tokens: Tokens, clock: Clock, text: str, days: float
) -> None:
    token, _ = await tokens.create("t", user="ada", expires=text)
    assert token.expires_at == clock.now + days * DAY


@pytest.mark.parametrize("text", ["soon", "0d", "-1d", "90", "1y", "d", "123456d", "٣d"])
async def test_what_is_no_expiry_is_refused(tokens: Tokens, text: str) -> None:
    with pytest.raises(InputError) as caught:
        await tokens.create("t", user="ada", expires=text)
    assert caught.value.field == "expires"


@pytest.mark.parametrize(
    ("name", "user", "field"),
    [
        ("", "ada", "name"),
        ("a b", "ada", "name"),
        ("../x", "ada", "name"),
        ("x" * 65, "ada", "name"),
        ("t", "Ada", "user"),
        ("t", "../ada", "user"),
        ("t", ".ada", "user"),
        ("t", "a/b", "user"),
        ("t", "x" * 33, "user"),
        ("t", "ada\n", "user"),
    ],
)
async def test_names_that_could_be_anything_else_are_refused(
    tokens: Tokens, name: str, user: str, field: str
) -> None:
    with pytest.raises(InputError) as caught:
        await tokens.create(name, user=user)
    assert caught.value.field == field


async def test_a_name_is_unique(tokens: Tokens) -> None:
    _, secret = await tokens.create("laptop", user="ada")
    with pytest.raises(Conflict):
        await tokens.create("laptop", user="bob")
    await tokens.revoke("laptop")
    _, other = await tokens.create("laptop", user="bob")
    assert await tokens.caller(secret) is None
    caller = await tokens.caller(other)
    assert caller is not None
    assert caller.user == "bob"


async def test_a_revoked_token_is_refused_also_after_a_restart(
    tokens: Tokens, store: SqliteStore
) -> None:
    _, gone = await tokens.create("gone", user="ada")
    _, kept = await tokens.create("kept", user="ada")
    assert (await tokens.revoke("gone")).name == "gone"
    for known in (tokens, Tokens(store.tokens)):
        assert await known.caller(gone) is None
        assert await known.caller(kept) is not None
    with pytest.raises(NotFound):
        await tokens.revoke("gone")


async def test_all_tokens_of_a_user_go_together(tokens: Tokens) -> None:
    for name, user in (("a", "ada"), ("b", "bob"), ("c", "ada"), ("d", "")):
        await tokens.create(name, user=user)
    assert [token.name for token in await tokens.revoke_all("ada")] == ["a", "c"]
    assert [token.name for token in await tokens.listed()] == ["b", "d"]


async def test_when_a_token_was_used_is_known_at_once_and_stored_later(
    tokens: Tokens, store: SqliteStore, clock: Clock
) -> None:
    _, secret = await tokens.create("laptop", user="ada")
    assert [token.last_used_at for token in await tokens.listed()] == [None]
    clock.now += 5000
    await tokens.caller(secret)
    assert [token.last_used_at for token in await tokens.listed()] == [clock.now]
    assert [token.last_used_at for token in await store.tokens.all()] == [None]
    await tokens.flush()
    await tokens.flush()
    assert [token.last_used_at for token in await store.tokens.all()] == [clock.now]
    assert [token.last_used_at for token in await tokens.listed()] == [clock.now]
