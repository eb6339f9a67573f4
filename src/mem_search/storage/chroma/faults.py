"""What can go wrong with Chroma, in our own words: the one place that knows its exceptions.

IndexUnavailable
├── Unreachable       no connection
│   └── Silent        no answer in time
├── CollectionGone    the server is well but no longer has our collection
└── ServerFault       the server failed inside: its files may be damaged
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mem_search.errors import IndexUnavailable


class Unreachable(IndexUnavailable):
    """No connection to the server, or no answer in time."""


class Silent(Unreachable):
    """No answer in time: busy, stopped, or hanging for good."""


class CollectionGone(IndexUnavailable):
    """Somebody deleted the collection, or the server was given another directory."""


class ServerFault(IndexUnavailable):
    """The server answered that it failed inside."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn whatever Chroma's client raises while ``doing`` something into IndexUnavailable.

    Errors that are not the client's (a TypeError of ours) pass unchanged.
    """
    try:
        yield
    except IndexUnavailable:
        raise
    except Exception as error:  # sorted in ``translate``; what is not Chroma's is raised again
        fault = translate(error, doing)
        if fault is None:
            raise
        raise fault from error


def translate(error: Exception, doing: str) -> IndexUnavailable | None:
    """The fault that ``error`` means, or None when it does not come from Chroma's client."""
    if isinstance(error, ImportError):
        return IndexUnavailable(
            f"chromadb cannot be loaded ({error}); run: python -m pip install 'chromadb>=1.5.9'"
        )
    import httpx
    from chromadb import errors

    said = str(error)[:300] or type(error).__name__
    match error:
        case httpx.TimeoutException() | TimeoutError():
            return Silent(f"Chroma did not answer in time while {doing}")
        case httpx.HTTPError() | httpx.InvalidURL() | OSError():
            return Unreachable(f"Chroma cannot be reached while {doing}: {said}")
        case errors.NotFoundError():
            return CollectionGone(f"Chroma lost the collection while {doing}: {said}")
        case errors.AuthorizationError() | errors.ChromaAuthError():
            return IndexUnavailable(f"Chroma wants another token while {doing}: {said}")
        case errors.InternalError():
            return ServerFault(f"Chroma failed while {doing}: {said}")
        case errors.ChromaError():
            return IndexUnavailable(f"Chroma refused {doing}: {said}")
        case ValueError():
            return IndexUnavailable(f"Chroma's client failed while {doing}: {said}")
        case RuntimeError() if "has been closed" in said:  # httpx: we connected anew meanwhile
            return Unreachable(f"Chroma was started again while {doing}")
    # For an error status without a name that it knows, the client raises a bare Exception.
    if type(error) is Exception:
        return ServerFault(f"Chroma failed while {doing}: {said}")
    return None
