"""The envelope of ``/api/v2``: ``{"status", "data", "meta"}``."""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

import mem_search
from mem_search.http.problems import REQUEST_ID
from mem_search.http.replies import json_reply
from mem_search.text import dates

API = "v2"


def success(data: dict[str, Any]) -> web.Response:
    """``data`` as a reply; what went wrong is told by problem details instead."""
    meta = {
        "request_id": REQUEST_ID.get(),
        "timestamp": dates.iso(int(time.time() * 1000)),
        "version": mem_search.__version__,
        "api_version": API,
    }
    return json_reply({"status": "success", "data": data, "meta": meta})
