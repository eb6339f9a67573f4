"""Replies for the viewer."""

from __future__ import annotations

from mem_search.renderers.schema import Time, schema


@schema
class ViewLink:
    """An address that logs one browser in, once, until `expires_at`."""

    url: str
    expires_at: Time


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
