"""Replies for the viewer."""

from __future__ import annotations

from typing import Annotated, Self

from mem_search.model.access import BrowserSession
from mem_search.renderers.projection import From, Projection
from mem_search.renderers.schema import Time, schema


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
    value: str
    is_default: bool


@schema
class SettingList:
    """All settings, by name."""

    settings: list[Setting]
