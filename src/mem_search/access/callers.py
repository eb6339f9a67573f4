"""Who asks: the machine's person, or a user who has a store of their own here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mem_search.errors import Forbidden, InputError, Unauthorized

USER: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""Lower case and no dots: a name is a folder, also where file names do not tell case apart."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as their token says.

    ``user`` is empty for the machine's person. ``token`` is the name of the token, empty for
    the home's own and for none at all. ``is_known``: a valid token was shown.
    ``owns_home``: it was the home's own, which alone gives out and takes back others.
    """

    user: str = ""
    token: str = ""
    is_known: bool = False
    may_change: bool = False
    owns_home: bool = False

    @property
    def name(self) -> str:
        """For logs: never a secret."""
        return self.user or "the machine's person"


NOBODY: Final = Caller()
"""No token: on loopback that is the machine's person, who may read."""

OWNER: Final = Caller(is_known=True, may_change=True, owns_home=True)
"""Whoever has the home's own token."""


NEEDED: Final = (
    "this needs a token: send 'Authorization: Bearer TOKEN' with what is in the file 'token' of"
    " the worker's home, in MEM_SEARCH_TOKEN, or what you were given"
)


def check_may_change(caller: Caller) -> None:
    """Raises Unauthorized without a token, Forbidden with one that may only read."""
    if not caller.is_known:
        raise Unauthorized(NEEDED)
    if not caller.may_change:
        raise Forbidden(f"the token {caller.token} may only read")


def check_user(name: str, field: str = "user") -> str:
    """``name``, when a user can be called so. Raises InputError naming ``field``."""
    if not USER.fullmatch(name):
        raise InputError(
            f"{name[:60]!r} cannot be a user's name; write 1 to 32 of a-z, 0-9, _ and -,"
            " a letter or digit first",
            field=field,
        )
    return name


def users_dir(home: Path) -> Path:
    """Where the homes of users are, in the home of the worker."""
    return home / "users"


def home_of(home: Path, user: str) -> Path:
    """The home of one user. Raises InputError for what is no name."""
    return users_dir(home) / check_user(user)
