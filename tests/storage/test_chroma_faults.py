"""What the way to Chroma or its server says becomes an error of ours, by what to do about it."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.connection import (
    CollectionGone,
    Connection,
    NoAnswer,
    ServerFault,
    Unreachable,
)
from mem_search.storage.chroma.server import RemoteWire

HTTPX_ERRORS = [
    kind
    for kind in vars(httpx).values()
    if isinstance(kind, type) and issubclass(kind, httpx.TransportError)
]


def asked(answer: httpx.Response | Exception) -> IndexUnavailable:
    """What a call raises whose every request gets this answer."""

    def answered(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    connection = Connection(
        partial(RemoteWire, "http://127.0.0.1:1", "secret"),
        "space",
        about={},
        timeout=1,
        made=lambda: None,
    )
    wire = connection._wire
    assert isinstance(wire, RemoteWire)
    wire.close()
    wire._client = httpx.Client(base_url="http://x", transport=httpx.MockTransport(answered))
    connection._collection = "known"
    try:
        with pytest.raises(IndexUnavailable) as caught:
            connection.count()
    finally:
        connection.close()
    assert "counting vectors" in str(caught.value)
    return caught.value


@pytest.mark.parametrize("kind", HTTPX_ERRORS)
def test_every_transport_error_is_unreachable(kind: type[Exception]) -> None:
    cause = kind("said")
    fault = asked(cause)
    assert isinstance(fault, Unreachable)
    assert isinstance(fault, NoAnswer) == isinstance(cause, httpx.TimeoutException)
    assert fault.__cause__ is not None
    assert fault.__cause__.__cause__ is cause


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, CollectionGone), (500, ServerFault), (502, ServerFault), (400, IndexUnavailable),
        (401, IndexUnavailable), (403, IndexUnavailable), (302, IndexUnavailable),
    ],
)  # fmt: skip
def test_answers_are_sorted_by_what_to_do_about_them(
    status: int, kind: type[IndexUnavailable]
) -> None:
    fault = asked(httpx.Response(status, text="<h1>why</h1>"))
    assert type(fault) is kind
    assert "why" in str(fault)
    assert ("token" in str(fault)) == (status in (401, 403))


def test_an_answer_that_is_no_json_is_a_fault_of_the_server() -> None:
    assert type(asked(httpx.Response(200, text="<h1>welcome</h1>"))) is ServerFault


def test_a_closed_connection_is_unreachable() -> None:
    wire = RemoteWire("http://127.0.0.1:1", "", 1)
    wire.close()
    with pytest.raises(ConnectionError, match="closed"):
        wire.request("GET", "/")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://chroma.example.org"])
def test_a_proxy_of_the_environment_is_for_other_machines(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:3128")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    wire = RemoteWire(url, "secret", 1)
    way = wire._client._transport_for_url(httpx.URL(url))
    assert (way is wire._client._transport) == ("127.0.0.1" in url)
    assert wire._client.headers["Authorization"] == "Bearer secret"
    wire.close()


def test_what_is_not_the_servers_passes_unchanged() -> None:
    with pytest.raises(TypeError, match="ours"):
        asked(TypeError("ours"))
