"""The errors of Chroma as ours. Only this module knows the exceptions of its client.

IndexUnavailable
├── Unreachable       no connection
│   └── NoAnswer      no answer in time
├── CollectionGone    the server works but no longer has our collection
└── ServerFault       an internal error of the server: its files may be damaged
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mem_search.errors import IndexUnavailable
from mem_search.install_command import install_command


class Unreachable(IndexUnavailable):
    """No connection to the server, or no answer in time."""


class NoAnswer(Unreachable):
    """No answer in time: the server is busy, stopped or hangs."""


class CollectionGone(IndexUnavailable):
    """Somebody deleted the collection, or the server has another directory now."""


class ServerFault(IndexUnavailable):
    """The server reported an internal error."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translate every error of Chroma's client while ``doing`` something to IndexUnavailable.

    Other errors (a TypeError of ours) pass unchanged.
    """
    try:
        yield
    except IndexUnavailable:
        raise
    except Exception as error:  # ``translate`` decides; other errors are raised again
        fault = translate(error, doing)
        if fault is None:
            raise
        raise fault from error


def translate(error: Exception, doing: str) -> IndexUnavailable | None:
    """The error as ours, or None when it does not come from Chroma's client."""
    if isinstance(error, ImportError):
        return IndexUnavailable(
            f"chromadb cannot be loaded ({error}); run: {install_command('chromadb>=1.5.9')}"
        )
    import httpx
    from chromadb import errors

    detail = str(error)[:300] or type(error).__name__
    match error:
        case httpx.TimeoutException() | TimeoutError():
            return NoAnswer(f"Chroma did not answer in time while {doing}")
        case httpx.HTTPError() | httpx.InvalidURL() | OSError():
            return Unreachable(f"Chroma cannot be reached while {doing}: {detail}")
        case errors.NotFoundError():
            return CollectionGone(f"Chroma lost the collection while {doing}: {detail}")
        case errors.AuthorizationError() | errors.ChromaAuthError():
            return IndexUnavailable(f"Chroma refused the token while {doing}: {detail}")
        case errors.InternalError():
            return ServerFault(f"Chroma failed while {doing}: {detail}")
        case errors.ChromaError():
            return IndexUnavailable(f"Chroma refused {doing}: {detail}")
        case ValueError():
            return IndexUnavailable(f"Chroma's client failed while {doing}: {detail}")
        case RuntimeError() if "has been closed" in detail:  # httpx: we have reconnected meanwhile
            return Unreachable(f"Chroma restarted while {doing}")
    # The client raises a bare Exception for an error status that it does not know.
    if type(error) is Exception:
        return ServerFault(f"Chroma failed while {doing}: {detail}")
    return None
