"""A remote Chroma server: found, missing, wrong, or asking for a token."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from local_server import Handler, serving
from mem_search.errors import IndexUnavailable, InputError
from mem_search.storage.chroma.connection import Connect, Unreachable
from mem_search.storage.chroma.server import RemoteChroma
from patience import comes_true


class Pretender:
    """An HTTP server that gives every request the same answer."""

    def __init__(self) -> None:
        self.reply = json.dumps({"nanosecond heartbeat": 1}).encode()
        self.status = 200
        self.headers: list[dict[str, str]] = []
        self.url = ""


@pytest.fixture
def pretender() -> Iterator[Pretender]:
    pretender = Pretender()

    class Answering(Handler):
        def do_GET(self) -> None:
            pretender.headers.append(dict(self.headers))
            self.reply(pretender.reply, pretender.status)

    with serving(Answering) as server:
        pretender.url = server.url
        yield pretender


async def test_a_server_that_answers_is_opened_with_its_token(pretender: Pretender) -> None:
    opened: list[Connect] = []

    async def accept(connect: Connect) -> None:
        opened.append(connect)

    remote = RemoteChroma(pretender.url + "/", "secret")
    remote.start(accept)
    await remote.wait_ready(5)
    assert len(opened) == 1
    assert pretender.headers[0]["Authorization"] == "Bearer secret"
    remote.check_after(Unreachable("gone"))
    await comes_true(lambda: len(opened) == 2)
    await remote.stop()
    assert remote.state == "down"


async def test_a_server_that_is_no_chroma_is_told_apart(pretender: Pretender) -> None:
    pretender.reply = b"<html>welcome</html>"
    await expect_down(pretender.url, "is not Chroma; check MEM_SEARCH_CHROMA_URL")


async def test_a_refusal_names_its_status(pretender: Pretender) -> None:
    pretender.status = 403
    await expect_down(pretender.url, "answered 403")


async def test_a_server_that_is_away_is_tried_again() -> None:
    await expect_down("http://127.0.0.1:9", "no Chroma answers at http://127.0.0.1:9")


async def expect_down(url: str, detail: str) -> None:
    async def accept(connect: Connect) -> None:
        raise AssertionError("nothing to open")

    remote = RemoteChroma(url)
    remote.start(accept)
    await comes_true(lambda: remote.state == "down")
    with pytest.raises(IndexUnavailable) as caught:
        remote.require_ready()
    assert detail in str(caught.value)
    await remote.stop()


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host", "http://", "http://host:99999", ""]
)
def test_an_address_that_is_none_names_the_setting(url: str) -> None:
    with pytest.raises(InputError) as caught:
        RemoteChroma(url)
    assert caught.value.field == "chroma_url"
