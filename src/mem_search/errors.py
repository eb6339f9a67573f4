"""The tree of all errors that mem-search raises.

Each class has its HTTP status, its stable ``code`` (in RFC 9457 problem details) and the exit
code of the command line. The message says what is wrong and the next step; ``field`` names the
input at fault, if there is one.

    MemSearchError                    500  internal                exit 1
    ├── InputError                    422  VAL_VALIDATION_FAILED   exit 2
    │   ├── MissingField              422  VAL_FIELD_REQUIRED      exit 2
    │   ├── MalformedBody             400  malformed_body          exit 2
    │   ├── TooLarge                  413  body_too_large          exit 2
    │   └── UnknownType               415  unsupported_media_type  exit 2
    ├── NotFound                      404  not_found               exit 4
    ├── Conflict                      409  conflict                exit 5
    ├── Forbidden                     403  forbidden               exit 6
    │   ├── Unauthorized              401  unauthorized            exit 6
    │   └── Misdirected               421  misdirected             exit 6
    ├── LimitReached                  429  limit_reached           exit 8
    ├── SourceError                   422  source_unreadable       exit 7
    └── Unavailable                   503  unavailable             exit 3
        ├── StorageError              503  storage_unavailable     exit 3
        │   └── StoreDamaged          503  storage_damaged         exit 3
        ├── IndexUnavailable          503  index_unavailable       exit 3
        └── ModelUnavailable          503  model_unavailable       exit 3
"""

from __future__ import annotations

import errno

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Numbers of an OSError that mean: the disk is full, or a quota or a limit is reached."""

UNWRITABLE = NO_ROOM | {errno.EROFS}
"""The same, or that the file system is read-only: what is there can still be read."""


class MemSearchError(Exception):
    """Base of all errors."""

    status = 500
    code = "internal"
    exit_code = 1

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InputError(MemSearchError):
    """A value of the caller cannot be used; ``field`` names it."""

    status = 422
    code = "VAL_VALIDATION_FAILED"
    exit_code = 2


class MissingField(InputError):
    """A required value is missing."""

    code = "VAL_FIELD_REQUIRED"


class MalformedBody(InputError):
    """The body is not valid JSON."""

    status = 400
    code = "malformed_body"


class TooLarge(InputError):
    """The body, or a file in it, is over the limit."""

    status = 413
    code = "body_too_large"


class UnknownType(InputError):
    """Nothing here reads files of this type."""

    status = 415
    code = "unsupported_media_type"


class NotFound(MemSearchError):
    """Nothing has this ref, id or route."""

    status = 404
    code = "not_found"
    exit_code = 4


class Conflict(MemSearchError):
    """The current state does not allow it (already running, already finished)."""

    status = 409
    code = "conflict"
    exit_code = 5


class Forbidden(MemSearchError):
    """The caller may not do this."""

    status = 403
    code = "forbidden"
    exit_code = 6


class Unauthorized(Forbidden):
    """A token is missing or wrong."""

    status = 401
    code = "unauthorized"


class Misdirected(Forbidden):
    """The Host header names another host: DNS rebinding, or a wrong proxy."""

    status = 421
    code = "misdirected"


class LimitReached(MemSearchError):
    """A rate limit is reached: ``policies`` names which, ``retry_after`` is in seconds."""

    status = 429
    code = "limit_reached"
    exit_code = 8

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        policies: tuple[str, ...] = (),
        retry_after: int = 1,
    ) -> None:
        super().__init__(message, field=field)
        self.policies = policies
        self.retry_after = retry_after


class SourceError(MemSearchError):
    """A source cannot read a location: corrupt, another format, locked or missing."""

    status = 422
    code = "source_unreadable"
    exit_code = 7


class Unavailable(MemSearchError):
    """A required part does not work at the moment; a later attempt may succeed."""

    status = 503
    code = "unavailable"
    exit_code = 3


class StorageError(Unavailable):
    """The store cannot be opened or written: locked, corrupt, or the disk is full."""

    code = "storage_unavailable"


class StoreAway(StorageError):
    """The server of the store does not answer. What was being done can be done again later."""


class StoreDamaged(StorageError):
    """The store's file was changed by something else: flipped bytes, a lost part, an older copy."""

    code = "storage_damaged"


class IndexUnavailable(Unavailable):
    """The vector index is down, corrupt or being rebuilt; keyword search still answers."""

    code = "index_unavailable"


class ModelUnavailable(Unavailable):
    """The embedding model is missing, or its weights are not the pinned ones."""

    code = "model_unavailable"
