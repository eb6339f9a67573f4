"""One attempt: what is sent, and the outcome with every kind of receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mem_search.errors import StorageError
from mem_search.features.webhooks.service import Sender, new_secret
from mem_search.outgoing import RefusedReceiver
from patience import PATIENCE
from webhook_receiver import receiving

SECRET = new_secret()
BODY = '{"type":"x","data":{"ü":1}}'.encode()


@asynccontextmanager
async def sending(*allowed: str, seconds: float = PATIENCE) -> AsyncIterator[Sender]:
    sender = Sender(lambda: SECRET, allowed, seconds=seconds)
    yield sender
    await sender.close()


async def test_a_message_arrives_signed_and_as_json() -> None:
    async with receiving(204, secret=SECRET) as receiver, sending(receiver.authority) as sender:
        attempt = await sender.send(receiver.url, "msg_1", BODY)
    assert (attempt.delivered, attempt.status, attempt.error) == (True, 204, "")
    (message,) = receiver.messages
    assert message.data == {"type": "x", "data": {"ü": 1}}
    assert message.id == "msg_1"
    assert message.headers["Content-Type"] == "application/json"
    assert message.headers["User-Agent"].startswith("mem-search/")
    assert "Cookie" not in message.headers
    assert "Authorization" not in message.headers


@pytest.mark.parametrize(
    ("status", "delivered", "final"),
    [
        (200, True, False),
        (202, True, False),
        (299, True, False),
        (304, False, False),
        (400, False, False),
        (404, False, False),
        (410, False, True),
        (429, False, False),
        (500, False, False),
    ],
)
async def test_only_2xx_is_delivered_and_410_ends_it(
    status: int, delivered: bool, final: bool
) -> None:
    async with receiving(status) as receiver, sending(receiver.authority) as sender:
        attempt = await sender.send(receiver.url, "msg_1", BODY)
    assert (attempt.status, attempt.delivered, attempt.final) == (status, delivered, final)
    assert bool(attempt.error) is not delivered


async def test_redirects_are_not_followed() -> None:
    async with receiving(200) as target, receiving(307) as receiver:
        receiver.extra = {"Location": target.url}
        async with sending(receiver.authority, target.authority) as sender:
            attempt = await sender.send(receiver.url, "msg_1", BODY)
    assert not attempt.delivered
    assert "redirects are not followed" in attempt.error
    assert target.messages == []


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(200) as proxy, receiving(200) as receiver:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.authority}")
        monkeypatch.setenv("http_proxy", f"http://{proxy.authority}")
        async with sending(receiver.authority) as sender:
            assert (await sender.send(receiver.url, "msg_1", BODY)).delivered
    assert proxy.messages == []


async def test_a_receiver_that_does_not_answer_is_left_in_time() -> None:
    async with receiving(200) as receiver, sending(receiver.authority, seconds=0.1) as sender:
        receiver.hold = asyncio.Event()
        attempt = await sender.send(receiver.url, "msg_1", BODY)
        receiver.hold.set()
    assert (attempt.delivered, attempt.final) == (False, False)
    assert "no answer within 0.1 s" in attempt.error


@pytest.mark.app
async def test_of_an_endless_reply_only_a_little_is_read() -> None:
    taken = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while taken < 2**26:
                writer.write(b"x" * 65536)
                await writer.drain()
                taken += 65536
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(pour, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, sending(f"127.0.0.1:{port}") as sender:
        attempt = await sender.send(f"http://127.0.0.1:{port}/", "msg_1", BODY)
    assert attempt.delivered
    assert taken < 2**25


@pytest.mark.app
async def test_endless_headers_are_no_reply() -> None:
    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000)
        writer.close()

    server = await asyncio.start_server(pour, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, sending(f"127.0.0.1:{port}") as sender:
        attempt = await sender.send(f"http://127.0.0.1:{port}/", "msg_1", BODY)
    assert not attempt.delivered


async def test_a_refused_connection_is_retried() -> None:
    async with receiving(200) as receiver:
        gone = receiver
    async with sending(gone.authority) as sender:
        attempt = await sender.send(gone.url, "msg_1", BODY)
    assert (attempt.delivered, attempt.status, attempt.final) == (False, None, False)
    assert "cannot be reached" in attempt.error


async def test_a_receiver_that_is_not_allowed_is_never_connected_to() -> None:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with receiving(200) as receiver:
        port = int(receiver.authority.rpartition(":")[2])
        sender = Sender(lambda: SECRET, lookup=here)
        for url in (receiver.url, f"http://rebound.example:{port}/", f"http://localhost:{port}/"):
            attempt = await sender.send(url, "msg_1", BODY)
            assert (attempt.delivered, attempt.final) == (False, True)
            assert "MEM_SEARCH_WEBHOOK_ALLOW" in attempt.error
        await sender.close()
    assert receiver.messages == []


async def test_a_request_goes_to_the_address_that_was_checked() -> None:
    asked: list[str] = []

    async def here(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    async with receiving(200) as receiver:
        port = receiver.authority.rpartition(":")[2]
        sender = Sender(lambda: SECRET, [f"named.example:{port}"], lookup=here)
        url = f"http://named.example:{port}/hook"
        assert (await sender.send(url, "msg_1", BODY)).delivered
        assert asked == ["named.example"]
        assert receiver.messages[0].headers["Host"] == f"named.example:{port}"
        # Looked up anew for every message, and judged anew.
        assert (await sender.send(url, "msg_2", BODY)).final
        await sender.close()
    assert len(receiver.messages) == 1


async def test_a_secret_that_cannot_be_read_leaves_the_message_waiting() -> None:
    def broken() -> str:
        raise StorageError("the secret is gone")

    sender = Sender(broken, ["127.0.0.1:9"])
    attempt = await sender.send("http://127.0.0.1:9/", "msg_1", BODY)
    assert (attempt.delivered, attempt.final, attempt.error) == (False, False, "the secret is gone")


def test_the_error_for_a_forbidden_url_names_its_field() -> None:
    with pytest.raises(RefusedReceiver) as refused:
        Sender(lambda: SECRET).check("http://127.0.0.1/")
    assert refused.value.field == "webhook_url"
    Sender(lambda: SECRET).check("https://example.org/hook")
