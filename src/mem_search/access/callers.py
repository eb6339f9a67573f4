"""Callers: the owner of the machine, or a user with a separate store, and how much each may ask.

Rate limits are an exact sliding window over the requests of each caller, kept in the store: the
workers of one store count together, and a worker that starts again goes on counting.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mem_search.errors import Forbidden, InputError, LimitReached, Unauthorized
from mem_search.model.access import Allowance, Policy
from mem_search.patterns import pattern
from mem_search.storage.sql.access import Limits
from mem_search.text.redaction import refuse_secret

USER: Final = pattern(r"[a-z0-9][a-z0-9_-]{0,31}")
"""Lower case and no dots: a name is a folder, also on file systems that ignore case."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, according to the token.

    ``user`` is empty for the owner. ``token`` is the name of the token, empty for the home's own
    token and for a request without one. ``is_known``: the request had a valid token.
    ``owns_home``: it was the home's own token; only that one creates and revokes others. Only
    records in ``scope`` are shown to it, where it has one. ``of`` is whose records a share shows;
    None for one's own.
    """

    user: str = ""
    token: str = ""
    is_known: bool = False
    may_change: bool = False
    owns_home: bool = False
    scope: str = ""
    of: str | None = None

    @property
    def name(self) -> str:
        """The name for logs; never a secret."""
        return self.user or "the owner"

    @property
    def budget(self) -> str:
        """Whose limits the requests count against: a flood of one token is no limit of another.

        All tokens of a user count together. No user is named with a colon.
        """
        return self.user or (f"token:{self.token}" if self.is_known else "anonymous:")


ANONYMOUS: Final = Caller()
"""A request without a token: on loopback that is the owner, who may read."""

OWNER: Final = Caller(is_known=True, may_change=True, owns_home=True)
"""A request with the home's own token."""


NEEDED: Final = (
    "this needs a token: send 'Authorization: Bearer TOKEN' with the content of the file 'token' in"
    " the worker's home, the value of MEM_SEARCH_TOKEN, or a token from `mem-search token create`"
)


def check_may_change(caller: Caller, what: str = "this", does: str = "stores something") -> None:
    """Raises Unauthorized without a token, Forbidden with one that may only read."""
    if not caller.is_known:
        raise Unauthorized(f"{what} {NEEDED.removeprefix('this ')}")
    if not caller.may_change:
        raise Forbidden(f"the token {caller.token} may only read, and {what} {does}")


def check_user(name: str, field: str = "user") -> str:
    """Return ``name`` when it is a valid user name. Raises InputError that names ``field``."""
    if not USER.fullmatch(name):
        raise InputError(
            f"{name[:60]!r} cannot be a user's name; write 1 to 32 of a-z, 0-9, _ and -,"
            " a letter or digit first",
            field=field,
        )
    return refuse_secret(name, field)


def users_dir(home: Path) -> Path:
    """The folder with the homes of users, in the home of the worker."""
    return home / "users"


def home_of(home: Path, user: str) -> Path:
    """The home of one user. Raises InputError for an invalid name."""
    if not USER.fullmatch(user):  # it was checked as a whole by whoever took it
        check_user(user)
    return users_dir(home) / user


MAX_REFUSED: Final = 10_000
"""Refusals that are remembered; the oldest is forgotten first."""


class RateLimits:
    """The limits of all callers, by ``Caller.budget`` and policy. ``clock`` returns seconds.

    A refusal stays right until room is free, so it is remembered: a flood of requests beyond a
    limit costs the store nothing.
    """

    def __init__(self, store: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._refused: OrderedDict[tuple[str, str], tuple[float, Allowance]] = OrderedDict()

    async def count(self, budget: str, policy: Policy, count: int = 1) -> Allowance | None:
        """Count requests of ``budget`` if there is room. Returns None without a limit.

        Raises StorageError.
        """
        if not policy.quota:
            return None
        key, now = (budget, policy.name), self._clock()
        until, refusal = self._refused.get(key, (now, None))
        if refusal is not None and count >= refusal.count and until > now:
            return replace(refusal, reset=int(until - now) + 1, count=count)
        allowance = await self._store.take(budget, policy, count)
        if allowance.granted:
            self._refused.pop(key, None)
        else:
            # Told in whole seconds, rounded up: within the last one the store is asked.
            self._refused[key] = (now + allowance.reset - 1, allowance)
            self._refused.move_to_end(key)
            if len(self._refused) > MAX_REFUSED:
                self._refused.popitem(last=False)
        return allowance


def limit_error(allowance: Allowance) -> LimitReached:
    """The error for an allowance that was not granted."""
    policy, count, wait = allowance.policy, allowance.count, f"ask again in {allowance.reset} s"
    if count == 1:
        what = f"the limit of {policy.quota} requests an hour is reached ({policy.name}); {wait}"
    elif count > policy.quota:
        what = (
            f"this is {count} requests, and the limit is {policy.quota} an hour ({policy.name});"
            " ask for them one by one"
        )
    else:
        what = (
            f"this is {count} requests, and {allowance.remaining} are left of {policy.quota}"
            f" an hour ({policy.name}); {wait}, or for them one by one"
        )
    return LimitReached(what, policies=(policy.name,), retry_after=allowance.reset)
