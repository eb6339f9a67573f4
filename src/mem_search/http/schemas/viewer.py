"""Replies for the viewer."""

from __future__ import annotations

from typing import Self

from mem_search.model.access import BrowserSession
from mem_search.renderers.schema import Time, schema


@schema
class ViewLink:
    """An address that logs one browser in, once, until `expires_at`."""

    url: str
    expires_at: Time


@schema
class Session:
    """A browser that is logged in."""

    id: str
    browser: str
    began_at: Time
    last_used_at: Time

    @classmethod
    def of(cls, session: BrowserSession) -> Self:
        return cls(
            id=session.id,
            browser=session.browser,
            began_at=session.began_at,
            last_used_at=session.used_at,
        )


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
