"""Signatures against the reference library of Standard Webhooks."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from mem_search.errors import InputError, StorageError
from mem_search.features.webhooks.service import key_of, new_secret, signed, webhook_secret
from mem_search.settings import Settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    data=JSON,
    message=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1),
    skew=st.integers(-290, 290),
)
def test_what_is_signed_verifies_with_the_reference_library(
    data: object, message: str, skew: int
) -> None:
    secret = new_secret()
    body = json.dumps(data).encode()
    headers = signed(key_of(secret), message, int(time.time()) + skew, body)
    assert Webhook(secret).verify(body, headers) == data


@given(body=st.binary(min_size=1).filter(lambda b: b.isascii()), at=st.integers(0, 200))
def test_any_change_breaks_the_signature(body: bytes, at: int) -> None:
    secret = new_secret()
    headers = signed(key_of(secret), "msg_1", int(time.time()), body)
    changed = body + b" "
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(changed, headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, {**headers, "webhook-id": "msg_2"}, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers, json_parse=False)


def test_the_example_of_the_specification_is_signed_as_it_says() -> None:
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_ä"])
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(InputError, match="whsec_"):
        key_of(secret)


def test_the_secret_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    secret = webhook_secret(settings)
    assert secret == webhook_secret(settings)
    assert len(key_of(secret)) == 32
    assert stat.S_IMODE(settings.webhook_secret_file.stat().st_mode) == 0o600


def test_a_secret_that_cannot_be_kept_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"webhook\.secret"):
        webhook_secret(Settings(home=tmp_path / "home"))
