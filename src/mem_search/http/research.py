"""``/api/v1/search/operations`` and ``sessions``: the steps of research, done again, exported."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from mem_search.errors import NotFound
from mem_search.http.access.rate_limits import admit
from mem_search.http.core.paging import (
    ExportParameters,
    Listing,
    OperationsListing,
    ReplayParameters,
    SessionReplayParameters,
)
from mem_search.http.core.replies import json_reply, prefers_text
from mem_search.http.core.routing import Call
from mem_search.http.schemas.universal_requests import request_body
from mem_search.model.research import OperationFilter
from mem_search.renderers.universal import document_json, universal_json
from mem_search.research.export import export as exported
from mem_search.research.export import export_json, export_markdown
from mem_search.research.json import session_json, step_json, tree_json, whole_operation_json
from mem_search.research.operations import step_of
from mem_search.research.replay import Change, Drift, Replay
from mem_search.search.citations import citation
from mem_search.storage.sqlite import operations

MARKDOWN = "text/markdown"


async def listed(call: Call) -> web.StreamResponse:
    """Operations, the newest first."""
    asked = call.asked(OperationsListing)
    wanted = OperationFilter(asked.session_id, asked.operation_type or "")
    found, total = await call.runtime.database.read(
        operations.newest, wanted, asked.limit, asked.offset
    )
    steps = [step_json(operation) for operation in found]
    return json_reply(
        {"operations": steps, "total": total, "limit": asked.limit, "offset": asked.offset}
    )


async def one(call: Call) -> web.StreamResponse:
    """One operation with its filters, its results and the index it met."""
    operation = await call.runtime.research.replays.get(_id(call))
    return json_reply(whole_operation_json(operation, request_body))


async def replay(call: Call) -> web.StreamResponse:
    """Do an operation again: the same result, or what has changed."""
    replays = call.runtime.research.replays
    done = await replays.replay(await replays.get(_id(call)))
    return json_reply(_replay(call, done, results=call.asked(ReplayParameters).results))


async def sessions(call: Call) -> web.StreamResponse:
    """Research sessions, the last active first."""
    asked = call.asked(Listing)
    found, total = await call.runtime.database.read(operations.sessions, asked.limit, asked.offset)
    rows = [session_json(session) for session in found]
    return json_reply(
        {"sessions": rows, "total": total, "limit": asked.limit, "offset": asked.offset}
    )


async def session(call: Call) -> web.StreamResponse:
    """The chains of one session as trees."""
    return json_reply(tree_json(_id(call), await call.runtime.research.replays.session(_id(call))))


async def replay_session(call: Call) -> web.StreamResponse:
    """Do every operation of a session again, in their order."""
    results = call.asked(SessionReplayParameters).results
    replays = call.runtime.research.replays
    steps = await replays.session(_id(call))
    again = [step for step in steps if not step.redacted]
    admit(call.request, "", research=True, count=max(1, len(again)))
    done = [await replays.replay(step) for step in again]
    return json_reply(
        {
            "session_id": _id(call),
            "identical": all(each.is_identical for each in done),
            "index_unchanged": all(each.is_same_index for each in done),
            "operations": [_replay(call, each, results=results) for each in done],
            "not_replayed": [step.id for step in steps if step.redacted],
        }
    )


async def export(call: Call) -> web.StreamResponse:
    """A session with all it found and cites, as JSON or as Markdown."""
    runtime = call.runtime
    steps = await runtime.research.replays.session(_id(call))
    asked = call.asked(ExportParameters)
    whole = await exported(
        runtime.database,
        _id(call),
        steps,
        style=asked.style,
        tz=call.view(asked.tz).tz,
        base=call.base,
    )
    if asked.format == "markdown" or prefers_text(call.request.headers.get("Accept", "")):
        text = export_markdown(whole).encode("utf-8", "replace")
        return web.Response(body=text, content_type=MARKDOWN, charset="utf-8")
    return json_reply(export_json(whole, request_body))


async def forget(call: Call) -> web.StreamResponse:
    """Forget a session: what was asked and what came back, not the records."""
    count = await call.runtime.database.write(operations.forget, _id(call))
    if not count:
        raise NotFound(
            f"no session {_id(call)[:60]!r};"
            " `mem-search research list` and GET /api/v1/search/sessions list them"
        )
    return json_reply({"deleted": count})


def _id(call: Call) -> str:
    return call.request.match_info["id"]


def _replay(call: Call, done: Replay, *, results: bool) -> dict[str, Any]:
    return {
        "operation": step_json(done.operation),
        "identical": done.is_identical,
        "index_unchanged": done.is_same_index,
        "index_before": asdict(done.operation.index_state),
        "index_now": asdict(done.index_state),
        "drift": _drift(done.drift, done.deleted) if done.drift else None,
        **({"result": _result(call, done)} if results else {}),
    }


def _result(call: Call, done: Replay) -> dict[str, Any] | None:
    if done.page is not None:
        return universal_json(done.page, call.base, step_of(done.operation))
    if done.record is None:
        return None
    document = document_json(done.record, citation(done.record), call.base)
    return {**document, **step_of(done.operation)}


def _drift(drift: Drift, deleted: frozenset[str]) -> dict[str, Any]:
    return {
        "appeared": [_change(each) for each in drift.appeared],
        "gone": [{**_change(each), "deleted": each.ref in deleted} for each in drift.gone],
        "changed": [_change(each) for each in drift.changed],
        "moved": [_change(each) for each in drift.moved],
        "rescored": [_change(each) for each in drift.rescored],
        "total_before": drift.total_before,
        "total_now": drift.total_after,
    }


def _change(change: Change) -> dict[str, Any]:
    return {"id": f"local:{change.ref}", "rank_before": change.before, "rank_now": change.after}
