"""Is there a Chroma at this address? Asked without its client, which knows no time limit.

Used before the client is made, because making one asks the server and would wait for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.faults import Unreachable

LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}


def heartbeat(url: str, headers: Mapping[str, str] | None = None, *, timeout: float) -> None:
    """Return if the Chroma at ``url`` (http or https, without the API path) answers.

    Blocking. A proxy of the environment is used unless the address is this machine. Raises
    Unreachable, or IndexUnavailable when something else than a Chroma answers.
    """
    here = urlsplit(url).hostname in LOOPBACK
    opener = build_opener(*([ProxyHandler({})] if here else []))
    request = Request(f"{url.rstrip('/')}/api/v2/heartbeat", headers=dict(headers or {}))  # noqa: S310  checked by the owner of the address
    try:
        with opener.open(request, timeout=timeout) as reply:
            alive = "nanosecond heartbeat" in json.loads(reply.read(4096))
    except HTTPError as error:
        with error:
            raise IndexUnavailable(
                f"{url} answered {error.code} to a heartbeat; check MEM_SEARCH_CHROMA_URL"
            ) from error
    except (OSError, HTTPException) as error:
        raise Unreachable(f"no Chroma answers at {url}: {error}") from error
    except (ValueError, TypeError):
        alive = False
    if not alive:
        raise IndexUnavailable(f"what answers at {url} is no Chroma; check MEM_SEARCH_CHROMA_URL")
