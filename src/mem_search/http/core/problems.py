"""Errors as RFC 9457 problem details: the one schema of every error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Final

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong
from aiohttp.web_protocol import RequestHandler
from pydantic import Field

from mem_search.errors import (
    InputError,
    LimitReached,
    MemSearchError,
    MissingField,
    StoreDamaged,
    Unauthorized,
    Unavailable,
)
from mem_search.http.core.replies import JSON
from mem_search.http.core.request_context import REQUEST_CONTEXT
from mem_search.records.registry import installed_kinds
from mem_search.renderers.schema import Absent, schema, to_json, to_values
from mem_search.request_id import REQUEST_ID

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = 1
"""After which a connection that was refused is worth another try."""

BROKEN_MOUNTS: Final = web.AppKey("broken mounts", list[str])
"""Why routes of packages are left out. Nobody is asked for a token here, so none is quoted."""
_MISSED = "routes of a package are left out; mem-search doctor says which, and what mends it"

_INTERNAL_ERROR = -32603
"""Of JSON-RPC: the one code for what is neither the message's fault nor its method's."""

_RENAMED = {413: "Content Too Large", 414: "URI Too Long", 422: "Unprocessable Content"}
"""Titles that RFC 9110 changed. Python has them from 3.13 on, replies with every Python."""

_CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
}
_DETAILS = {
    404: "no such route; GET /docs lists them all",
    405: "this route has other methods; the Allow header lists them",
    413: "the body is larger than 32 MB; POST /api/import/upload takes files of any size",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input: a ``parameter``, or the ``pointer`` of a place in a body."""

    detail: str
    parameter: str | None = None
    pointer: str | None = None
    missing: bool = False

    @property
    def field(self) -> str:
        return self.parameter or (self.pointer or "").lstrip("/")


class Invalid(InputError):
    """Several faults at once, so that the caller can correct all of them in one go."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        named = [f"{fault.field}: {fault.detail}" if fault.field else fault.detail
                 for fault in faults]  # fmt: skip
        super().__init__("; ".join(named), field=faults[0].field or None)
        self.faults = tuple(faults)
        if all(fault.missing for fault in faults):
            self.code = MissingField.code


@schema
class ProblemError:
    """One fault of the request, by its parameter or by the JSON pointer of its place."""

    parameter: Absent[str] = None
    pointer: Absent[str] = None
    detail: str


@schema
class Problem:
    """The body of every error (RFC 9457). `code` is stable, `detail` is for people."""

    type: Annotated[str, Field(examples=["urn:mem-search:problem:not_found"])]
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    violated_policies: Annotated[
        Absent[tuple[str, ...]], Field(serialization_alias="violated-policies")
    ] = None
    field: Absent[str] = None
    errors: Absent[list[ProblemError]] = None


def problem_within(request: web.Request, error: MemSearchError, place: str) -> Problem:
    """The problem of one part of a body, which is at the JSON pointer ``place``."""
    faults = error.faults if isinstance(error, Invalid) else ()
    if not faults and error.field is not None:
        faults = (Fault(error.message, parameter=error.field),)
    faults = tuple(
        replace(
            fault,
            parameter=None,
            pointer=f"{place}/{fault.parameter}" if fault.parameter else place,
        )
        for fault in faults
    )
    policies = tuple(error.policies) if isinstance(error, LimitReached) else None
    return _problem(request, error.status, error.code, error.message, faults, error.field, policies)


def of_error(request: web.Request, error: MemSearchError) -> web.Response:
    """The reply for an error that mem-search raised on purpose."""
    headers = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = 'Bearer realm="mem-search"'
    if isinstance(error, Unavailable) and error.code != StoreDamaged.code:  # time mends nothing
        headers["Retry-After"] = "1" if error.code == "starting" else "5"
    policies: tuple[str, ...] | None = None
    if isinstance(error, LimitReached):
        headers["Retry-After"] = str(error.retry_after)
        policies = tuple(error.policies)
    faults = error.faults if isinstance(error, Invalid) else ()
    if not faults and error.field is not None:
        faults = (_fault_at(request, error.field, error.message),)
    return _reply(
        request,
        error.status,
        error.code,
        error.message,
        faults,
        field=error.field,
        headers=headers,
        policies=policies,
    )


def _fault_at(request: web.Request, field: str, detail: str) -> Fault:
    """An error of a field: a parameter of the path or the query, else a field of the JSON body."""
    elsewhere = field in request.match_info or field in request.query or request.method == "GET"
    if not elsewhere and request.body_exists and request.content_type == "application/json":
        return Fault(detail, pointer="/" + field.replace(".", "/"))
    return Fault(detail, parameter=field)


def of_http(request: web.Request, error: web.HTTPException) -> web.Response:
    """The reply for an error that aiohttp raises, such as 404 or 405."""
    code = _CODES.get(error.status, "http_error")
    headers = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
    detail = _DETAILS.get(error.status, error.reason)
    if error.status == 404:
        # The command line has a command for each entry point, whose route may not be there.
        left_out = installed_kinds().meant_by(request.path.rpartition("/")[2])
        detail = f"{left_out or detail}{f'; {_MISSED}' if request.app.get(BROKEN_MOUNTS) else ''}"
    return _reply(request, error.status, code, detail, headers=headers)


def of_bug(request: web.Request) -> web.Response:
    """The reply for an unexpected error: it shows no detail; the log has the traceback."""
    detail = "internal error; the worker's log has it under this request_id"
    return _reply(request, 500, "internal", detail)


def _problem(
    request: web.Request,
    status: int,
    code: str,
    detail: str,
    faults: Sequence[Fault],
    field: str | None,
    policies: tuple[str, ...] | None,
) -> Problem:
    return Problem(
        type=f"urn:mem-search:problem:{code}",
        title=_RENAMED.get(status) or HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.path,
        code=code,
        request_id=REQUEST_ID.get(),
        violated_policies=policies,
        field=field or None,
        errors=[
            ProblemError(detail=fault.detail, parameter=fault.parameter, pointer=fault.pointer)
            for fault in faults
        ]
        or None,
    )


def _reply(
    request: web.Request,
    status: int,
    code: str,
    detail: str,
    faults: Sequence[Fault] = (),
    *,
    field: str | None = None,
    headers: dict[str, str] | None = None,
    policies: tuple[str, ...] | None = None,
) -> web.Response:
    problem = _problem(request, status, code, detail, faults, field, policies)
    body = to_json(problem)
    content_type, context = CONTENT_TYPE, request.get(REQUEST_CONTEXT)
    if context is not None and context.message is not None:
        # MCP clients show their agent the reason only when it is in a reply to the message.
        error = {"code": _INTERNAL_ERROR, "message": detail, "data": to_values(problem)}
        body = to_json({"jsonrpc": "2.0", "id": context.message, "error": error})
        content_type = JSON
    return web.Response(status=status, body=body, content_type=content_type, headers=headers or {})


class _Protocol(RequestHandler):
    """Answers what is no request with a problem: aiohttp's own page and log quote the header, in
    which a token may stand.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if not isinstance(exc, BadHttpMessage):
            return super().handle_error(request, status, exc, message)
        code, what = "bad_request", (message or "").partition(":")[0].strip().lower()
        detail = f"this is not HTTP/1.1: {what}; send a request as RFC 9112 has it"
        if isinstance(exc, LineTooLong):
            status, code = 431, "head_too_large"
            detail = (
                f"a header, or the address, is longer than {int(exc.args[1]):,} bytes; send a "
                "shorter one, and what is long in the body"
            )
        reply = web.Response(
            status=status, body=_before_routes(status, code, detail), content_type=CONTENT_TYPE
        )
        reply.force_close()
        return reply


def protocol_of(server: web.Server) -> RequestHandler:
    """What reads the requests of one connection."""
    # aiohttp lets nobody choose the class.
    return _Protocol(server, loop=server._loop, **server._kwargs)  # noqa: SLF001


def _before_routes(status: int, code: str, detail: str) -> bytes:
    title = HTTPStatus(status).phrase
    return to_json(
        {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    )


def whole_reply(status: int, detail: str) -> bytes:
    """A whole reply with problem details, for those whom aiohttp never sees."""
    code = {408: "request_timeout", 503: "too_many_connections"}[status]
    title, retry = HTTPStatus(status).phrase, ""
    if status == 503:
        retry = f"Retry-After: {RETRY_SECONDS}\r\n"
    body = _before_routes(status, code, detail).decode()
    return (
        f"HTTP/1.1 {status} {title}\r\nContent-Type: {CONTENT_TYPE}\r\n"
        f"Content-Length: {len(body.encode())}\r\n{retry}Cache-Control: no-store\r\n"
        f"Server: mem-search\r\nConnection: close\r\n\r\n{body}"
    ).encode()
