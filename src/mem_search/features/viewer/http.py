"""The viewer: its page and files, and the link that logs a browser in.

The page is static and reads the same routes as every other client. Nothing is inline and nothing
comes from outside, which the policy enforces (ADR 0030).
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Final, Self

from aiohttp import web
from pydantic import Field

from mem_search.agents.base import plugin_folder
from mem_search.errors import Conflict, Forbidden, NotFound
from mem_search.features.viewer import pages
from mem_search.http.access.browsers import is_allowed_name, login_place, no_login
from mem_search.http.core.parameters import Body, SearchParameters
from mem_search.http.core.replies import HTML, Deleted, html_page, json_reply, style_policy
from mem_search.http.core.routing import ANY_TYPE, Call, Handler, Route
from mem_search.model.access import BrowserSession
from mem_search.patterns import pattern
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.renderers.schema import From, Projection, Time, schema
from mem_search.settings import Settings
from mem_search.text import secret_rules
from mem_search.text.redaction import redact

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
_STYLE: Final = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
"""
"""Of the page at the worker's port."""

_TYPES: Final = {
    "js": "text/javascript", "mjs": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
}  # fmt: skip
_FOLDER: Final = files("mem_search") / "viewer"
_DRAWING: Final = files("mem_search") / "features" / "graph" / "data"
_DRAWN_BY: Final = ("cytoscape.min.js", "drawing.js")
"""What the exported picture of a graph is drawn by, too."""


_ROW: Final = pattern(r"(?m)^\| `(MEM_SEARCH_\w+)` \|.*\| (.*?) \|$")
_LINK: Final = pattern(r"\[([^\]]*)\]\([^)]*\)")


@schema
class ViewLink:
    """An address that logs one browser in, once, until `expires_at`."""

    url: str
    expires_at: Time


@schema
class Session(Projection[BrowserSession]):
    """A browser that is logged in."""

    id: str
    browser: str
    began_at: Time
    last_used_at: Annotated[Time, From("used_at")]


@schema
class SessionList:
    """The browsers that are logged in, the last used first."""

    sessions: list[Session]


@schema
class NewSession:
    """A new session. Only this reply has its secret."""

    id: str
    secret: str

    @classmethod
    def of(cls, session: BrowserSession, *, secret: str) -> Self:
        return cls(id=session.id, secret=secret)


@schema
class Setting:
    """A setting of this worker. `value` is `set` for a secret that has one."""

    name: str
    variable: str
    meaning: str
    value: str
    is_default: bool


@schema
class SettingList:
    """All settings, by name."""

    settings: list[Setting]


async def page(call: Call) -> web.StreamResponse:
    """The page, which is the same for everything that it shows.

    At the worker's port it would show nothing, and says instead where the viewer is.
    """
    lifecycle = call.lifecycle
    if login_place(call.request, lifecycle.settings) or lifecycle.settings.neighbours_read:
        text, policy = (_FOLDER / "index.html").read_bytes().decode(), POLICY
    else:
        told = no_login(lifecycle)
        body = f"<h1>mem-search</h1>\n<p>{escape(told[:1].upper() + told[1:])}.</p>\n"
        text, policy = html_page("mem-search", _STYLE, body), style_policy(_STYLE)
    return web.Response(
        text=text,
        content_type=HTML,
        headers={"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"},
    )


def file(folder: str = "") -> Handler:
    """A file of the viewer in ``folder``. Raises NotFound for any other name."""

    async def answer(call: Call) -> web.StreamResponse:
        name = folder + call.request.match_info["name"]
        asset = _files().get(name)
        if asset is None:
            raise NotFound(f"the viewer has no file {name[:60]!r}")
        return web.Response(
            body=asset.read_bytes(), content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8"
        )

    return answer


@cache
def _files() -> dict[str, Traversable]:
    """Name → file. Only these are served, so that no name leads out of the folder."""
    own = {each.name: each for each in _FOLDER.iterdir()}
    own |= {name: _DRAWING / name for name in _DRAWN_BY}
    vendored = {f"vendor/{each.name}": each for each in (_FOLDER / "vendor").iterdir()}
    return {name: at for name, at in (own | vendored).items() if name.rpartition(".")[2] in _TYPES}


async def link(call: Call) -> web.StreamResponse:
    """A link that logs one browser in, once. No log has its code: browsers send no fragment."""
    place, base = login_place(call.request, call.lifecycle.settings), call.base
    if not is_allowed_name(place, call.lifecycle.settings):
        base = call.lifecycle.viewer
        place = base.removeprefix("http://")
    if not place:
        raise Conflict(no_login(call.lifecycle))
    code, ends = await call.lifecycle.sessions.link(place)
    return json_reply(ViewLink(url=f"{base}/#/login/{code}", expires_at=ends))


class LoginBody(Body):
    """What a link of ``mem-search view`` ends with."""

    code: str = Field(max_length=100)


async def login(call: Call) -> web.StreamResponse:
    """Redeem a link for a session. Raises Forbidden for a link that is used up."""
    browser = call.request.headers.get("User-Agent", "")
    place = login_place(call.request, call.lifecycle.settings)
    if not place:
        raise Forbidden(no_login(call.lifecycle))
    begun = await call.lifecycle.sessions.redeem(call.json_body(LoginBody).code, place, browser)
    if begun is None:
        raise Forbidden("this link was used or is too old; get a new one: mem-search view")
    session, secret = begun
    return json_reply(NewSession.of(session, secret=secret), status=201)


async def sessions(call: Call) -> web.StreamResponse:
    """The browsers that are logged in, the last used first."""
    logged_in = await call.lifecycle.sessions.listed()
    return json_reply(SessionList(sessions=[Session.of(each) for each in logged_in]))


async def end_session(call: Call) -> web.StreamResponse:
    """Log a browser out."""
    ended = call.request.match_info["id"]
    await call.lifecycle.sessions.end(ended)
    return json_reply(Deleted(deleted=ended))


async def settings(call: Call) -> web.StreamResponse:
    """The settings of this worker. A secret is told as set, and URLs lose their credentials."""
    current = call.lifecycle.settings
    default = Settings(home=current.home)
    await secret_rules.ready()
    meanings = await asyncio.to_thread(_meanings)
    told = []
    for field in sorted(fields(current), key=lambda each: each.name):
        value, usual = getattr(current, field.name), getattr(default, field.name)
        plain = ", ".join(value) if isinstance(value, tuple) else str(value)
        if isinstance(value, bool):
            plain = str(int(value))  # as it is written in the environment
        shown = redact(plain)[0] if field.repr else "set" if value else ""
        variable = f"MEM_SEARCH_{field.name.upper()}"
        told.append(
            Setting(
                name=field.name,
                variable=variable,
                meaning=meanings.get(variable, ""),
                value=shown,
                is_default=value == usual,
            )
        )
    return json_reply(SettingList(settings=told))


def _meanings() -> dict[str, str]:
    """Variable → what it is, from the page of the documentation about settings."""
    page = plugin_folder().parent / "docs" / "reference" / "settings.md"
    rows = _ROW.findall(read_regular_file(page, MAX_SETTINGS).decode())
    return {variable: _LINK.sub(r"\1", said).replace("`", "") for variable, said in rows}


# fmt: off
ROUTES = (
    Route("GET", "/", page, "Show the viewer", "viewer", early=True, content_type=HTML, is_rest=False),
    Route("GET", "/viewer/{name}", file(), "A file of the viewer", "viewer", early=True, content_type=ANY_TYPE, is_rest=False),
    Route("GET", "/viewer/vendor/{name}", file("vendor/"), "A file that the viewer uses", "viewer", early=True, content_type=ANY_TYPE, is_rest=False),
    Route("POST", "/api/viewer/links", link, "Create a link that logs one browser in, once", "access", write=True, only="home", response=ViewLink, errors=(409,)),
    Route("GET", "/api/viewer/settings", settings, "List the settings of the worker", "access", write=True, only="home", response=SettingList),
    Route("POST", "/api/viewer/sessions", login, "Log this browser in by the code of a link", "viewer", body=LoginBody, login=True, only="home", status=201, response=NewSession),
    Route("GET", "/api/viewer/sessions", sessions, "List the browsers that are logged in", "access", write=True, only="home", response=SessionList),
    Route("DELETE", "/api/viewer/sessions/{id}", end_session, "Log a browser out", "access", write=True, only="home", response=Deleted),
    Route("GET", "/api/viewer/search", pages.search, "Search for the viewer: a line and a span of each result", "viewer", query=SearchParameters, response=pages.FoundPage, is_rest=False),
    Route("GET", "/api/viewer/records/{ref}", pages.shown, "A record for the viewer, its text as a tree", "viewer", query=pages.ShownParameters, response=pages.ShownRecord, is_rest=False),
)
