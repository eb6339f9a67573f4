"""Errors of Chroma's client become ours; our own defects stay visible."""

from __future__ import annotations

import httpx
import pytest
from chromadb import errors

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.connection import (
    CollectionGone,
    NoAnswer,
    ServerFault,
    Unreachable,
    translate,
    translated,
)

CHROMA_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.ChromaError)
]
HTTPX_ERRORS = [
    kind
    for kind in vars(httpx).values()
    if isinstance(kind, type) and issubclass(kind, httpx.TransportError)
]


@pytest.mark.parametrize("kind", [k for k in CHROMA_ERRORS if not k.__abstractmethods__])
def test_every_error_of_chroma_is_index_unavailable(kind: type[Exception]) -> None:
    assert isinstance(translate(kind("said"), "searching"), IndexUnavailable)


@pytest.mark.parametrize("kind", HTTPX_ERRORS)
def test_every_transport_error_is_unreachable(kind: type[Exception]) -> None:
    assert isinstance(translate(kind("said"), "searching"), Unreachable)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.NotFoundError("gone"), CollectionGone),
        (errors.InternalError("Error loading hnsw index"), ServerFault),
        (Exception("<h1>502</h1>"), ServerFault),
        (TimeoutError(), NoAnswer),
        (ConnectionRefusedError("no"), Unreachable),
        (RuntimeError("Cannot send a request, as the client has been closed."), Unreachable),
        (ValueError("Could not connect to a Chroma server"), IndexUnavailable),
    ],
)
def test_errors_are_sorted_by_what_to_do_about_them(
    error: Exception, kind: type[IndexUnavailable]
) -> None:
    fault = translate(error, "searching")
    assert type(fault) is kind
    assert "searching" in str(fault)


def test_a_missing_package_is_named_with_its_install_line() -> None:
    fault = translate(ModuleNotFoundError("No module named 'chromadb'"), "connecting")
    assert "pip install" in str(fault)


def test_the_first_cause_is_kept() -> None:
    cause = errors.InternalError("inner")
    with pytest.raises(ServerFault) as caught, translated("searching"):
        raise cause
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    "error", [TypeError("ours"), RuntimeError("ours"), KeyError("ours"), CollectionGone("told")]
)
def test_what_is_not_the_clients_passes_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, translated("searching"):
        raise error
    assert caught.value is error
