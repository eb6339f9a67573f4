"""Callers: the owner of the machine, or a user with a separate store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mem_search.errors import Forbidden, InputError, Unauthorized
from mem_search.patterns import pattern
from mem_search.text.redaction import refuse_secret

USER: Final = pattern(r"[a-z0-9][a-z0-9_-]{0,31}")
"""Lower case and no dots: a name is a folder, also on file systems that ignore case."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, according to the token.

    ``user`` is empty for the owner. ``token`` is the name of the token, empty for the home's own
    token and for a request without one. ``is_known``: the request had a valid token.
    ``owns_home``: it was the home's own token; only that one creates and revokes others.
    """

    user: str = ""
    token: str = ""
    is_known: bool = False
    may_change: bool = False
    owns_home: bool = False

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


def check_may_change(caller: Caller, what: str = "this") -> None:
    """Raises Unauthorized without a token, Forbidden with one that may only read."""
    if not caller.is_known:
        raise Unauthorized(f"{what} {NEEDED.removeprefix('this ')}")
    if not caller.may_change:
        raise Forbidden(f"the token {caller.token} may only read, and {what} stores something")


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
