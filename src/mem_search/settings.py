"""Settings: one frozen value, read once at start from file < environment < flags.

The home (``MEM_SEARCH_HOME``, default ``~/.mem-search``) holds all files of the product:
``mem-search.db``, ``chroma/``, ``models/``, ``logs/``, ``spool/``, ``hooks/``, ``transcripts/``,
``users/``, ``config.toml``, ``token``, ``webhook.secret``, ``redaction.key``,
``mail-passwords.json``, ``reading.json`` and ``worker.json``. Imports are light, because the
command line reads settings before it connects to the worker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from mem_search import NO_HOME
from mem_search.errors import InputError, StorageError
from mem_search.platform import expanded
from mem_search.regular_file import MAX_SETTINGS, read_regular_file

DEFAULT_PORT = 37777
MAX_LIMIT = 1_000_000
_SECONDS = frozenset({
    "follow", "reranker_seconds", "enrich_seconds", "translate_seconds", "store_replica_lag",
    "web_search_seconds",
})  # fmt: skip
_MINIMUM = {
    "limit_searches": 0, "limit_research": 0, "limit_research_remote": 0, "limit_jobs": 0,
    "limit_web_searches": 0,
    "prepare_seconds": 1, "prepare_memory": 256, "retry_aside": 0,
    "connections": 16, "connections_per_address": 8,
    "header_timeout": 1, "idle_timeout": 1, "enrich_tokens": 0, "enrich_per_minute": 1,
    "compress_tokens": 0,
    "context_tokens": 0,
}  # fmt: skip
"""The smallest value of each whole number; with less memory no process starts."""

_MAX_OWNER_CHARS = 200
LOG_FORMATS = ("text", "json")
_HEX = frozenset("0123456789abcdef")
"""Characters: it is in the key of every row."""

PROMPT_CONTEXTS = ("guide", "records", "off")
"""When to search and how many records match; these and the best of them; nothing."""


_SWITCHES = (
    "search_log", "clicks", "sparse", "read_token", "neighbours_read", "photo_places",
    "capture_token", "keep_transcripts", "network_disk",
)  # fmt: skip
_SWITCH = {"1": True, "true": True, "on": True, "yes": True} | {
    "0": False, "false": False, "off": False, "no": False
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a home and its worker; docs/reference/settings.md says what each is.

    ``embedder`` may also be ``hashing`` (tests). ``openai:…`` has its key in ``OPENAI_API_KEY``.
    An empty ``chroma_url`` is the owned child process. ``compress`` has the seconds and the pace of
    ``enrich``. ``proxy_addresses`` may be networks.
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str = field(default="", repr=False)
    store: str = field(default="", repr=False)
    store_owner: str = "main"
    store_replica: str = field(default="", repr=False)
    store_replica_lag: float = 10.0
    redaction_key: str = field(default="", repr=False)
    embedder: str = "bundled"
    chroma_url: str = ""
    chroma_token: str = field(default="", repr=False)
    follow: float = 15.0
    timezone: str = ""
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    proxy_header: str = ""
    proxy_addresses: tuple[str, ...] = ("127.0.0.1", "::1")
    log_level: str = "INFO"
    log_format: str = "text"
    search_log: bool = True
    clicks: bool = True
    sparse: bool = True
    keep_transcripts: bool = True
    read_token: bool = False
    neighbours_read: bool = False
    network_disk: bool = False
    capture_token: bool = False
    limit_searches: int = 100
    limit_research: int = 50
    limit_research_remote: int = 10
    limit_jobs: int = 10
    webhook_allow: tuple[str, ...] = ()
    fetch_allow: tuple[str, ...] = ()
    web_search: str = ""
    web_search_key: str = field(default="", repr=False)
    web_search_seconds: float = 3.0
    limit_web_searches: int = 100
    notion_token: str = field(default="", repr=False)
    notion_url: str = "https://api.notion.com"
    smtp: str = ""
    smtp_from: str = ""
    smtp_to: tuple[str, ...] = ()
    smtp_password: str = field(default="", repr=False)
    reranker: str = ""
    reranker_key: str = field(default="", repr=False)
    reranker_seconds: float = 2.0
    mailgun_key: str = field(default="", repr=False)
    sendgrid_key: str = ""
    photo_places: bool = False
    enrich: str = ""
    enrich_key: str = field(default="", repr=False)
    enrich_seconds: float = 60.0
    enrich_tokens: int = 500_000
    enrich_per_minute: int = 20
    compress: str = ""
    compress_key: str = field(default="", repr=False)
    compress_tokens: int = 200_000
    translate: str = ""
    translate_key: str = field(default="", repr=False)
    translate_seconds: float = 5.0
    prepare_seconds: int = 120
    prepare_memory: int = 2048
    retry_aside: int = 60
    context_tokens: int = 1500
    prompt_context: str = "guide"
    connections: int = 512
    connections_per_address: int = 256
    header_timeout: int = 15
    idle_timeout: int = 75

    @property
    def database(self) -> Path:
        return self.home / "mem-search.db"

    @property
    def chroma_dir(self) -> Path:
        return self.home / "chroma"

    @property
    def models_dir(self) -> Path:
        return self.home / "models"

    @property
    def logs_dir(self) -> Path:
        return self.home / "logs"

    @property
    def spool_dir(self) -> Path:
        return self.home / "spool"

    @property
    def transcripts_dir(self) -> Path:
        return self.home / "transcripts"

    @property
    def token_file(self) -> Path:
        return self.home / "token"

    @property
    def webhook_secret_file(self) -> Path:
        return self.home / "webhook.secret"

    @property
    def redaction_key_file(self) -> Path:
        return self.home / "redaction.key"

    @property
    def home_id_file(self) -> Path:
        return self.home / "home.id"

    @property
    def worker_file(self) -> Path:
        return self.home / "worker.json"

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, **flags: Any) -> Self:
        """Settings from ``config.toml`` in the home, then ``MEM_SEARCH_*``, then flags.

        Raises InputError naming the file or variable that cannot be used, StorageError for a home
        that belongs to another user.
        """
        environ = os.environ if environ is None else environ
        home = home_of(environ)
        settings = cls(home=home)
        values: dict[str, Any] = {}
        file = home / "config.toml"
        if _exists(file):
            import tomllib  # imported only when there is a config.toml

            try:
                content = read_regular_file(file, MAX_SETTINGS)
                values.update(tomllib.loads(content.decode("utf-8-sig")))  # editors write BOMs
            except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
                raise InputError(f"cannot read {file}: {error}", field="config.toml") from error
        names = {f.name for f in fields(cls)} - {"home"}
        for name in names:
            if (value := environ.get(f"MEM_SEARCH_{name.upper()}")) not in (None, ""):
                values[name] = value
        values.update({name: value for name, value in flags.items() if value is not None})
        unknown = sorted(set(values) - names)
        if unknown:
            raise InputError(
                f"unknown setting {unknown[0]!r} in {file};"
                f" choose one of {', '.join(sorted(names))}",
                field=unknown[0],
            )
        settings = replace(settings, **{n: _coerce(n, value) for n, value in values.items()})
        if settings.store_replica and not settings.store:
            raise InputError(
                "MEM_SEARCH_STORE_REPLICA needs MEM_SEARCH_STORE=postgresql://…, the server that it"
                " is a replica of; set that, or unset MEM_SEARCH_STORE_REPLICA",
                field="store_replica",
            )
        return settings


def home_of(environ: Mapping[str, str]) -> Path:
    """The home that ``environ`` names. Raises InputError where neither it nor ``~`` is one."""
    if not environ.get("MEM_SEARCH_HOME") and environ.get("HOME") == NO_HOME:
        raise InputError(
            "you have no home directory; set MEM_SEARCH_HOME to a directory of your own",
            field="MEM_SEARCH_HOME",
        )
    return Path(expanded(environ.get("MEM_SEARCH_HOME") or "~/.mem-search")).resolve()


def is_shared(home: Path) -> bool:
    """Whether ``home`` also holds files of other programs: a home directory, the one for temporary
    files, or a folder above.
    """
    import tempfile  # 10 ms that a search in the terminal does not need

    person = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - without a HOME this is "~"
    try:
        temporary = Path(tempfile.gettempdir()).resolve()
    except FileNotFoundError:  # there is none, as on a read-only root file system
        return home in (person, *person.parents)
    return home in (temporary, person, *person.parents)


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except PermissionError as error:
        raise StorageError(
            f"cannot look into {file.parent} ({error.strerror}); "
            "set MEM_SEARCH_HOME to a directory of your own",
            field="MEM_SEARCH_HOME",
        ) from error


def _coerce(name: str, value: Any) -> Any:
    try:
        match name:
            case "port":
                port = int(str(value))  # int alone would accept TOML's true and 2.7
                if not 0 <= port <= 65535:
                    raise ValueError
                return port
            case _ if name in _MINIMUM:
                number = int(str(value))
                if not _MINIMUM[name] <= number <= MAX_LIMIT:
                    raise ValueError
                return number
            case _ if name in _SECONDS:
                seconds = float(str(value))
                if not 0 <= seconds < float("inf") or (name != "follow" and not seconds):
                    raise ValueError
                return seconds
            case "store" | "store_replica":
                if value and not str(value).startswith(("postgresql://", "postgres://")):
                    raise InputError(  # not repeated: an address may have a password
                        f"MEM_SEARCH_{name.upper()} is not a PostgreSQL address; it has the form"
                        " postgresql://USER@HOST:5432/DATABASE, or is empty for none",
                        field=name,
                    )
                return str(value or "")
            case "store_owner":
                if not str(value).strip() or len(str(value)) > _MAX_OWNER_CHARS:
                    raise ValueError
                return str(value).strip()
            case "redaction_key":
                if value and (len(str(value)) != 64 or set(str(value).lower()) - _HEX):
                    raise InputError(  # the value is a secret: not repeated
                        "MEM_SEARCH_REDACTION_KEY has 64 hexadecimal digits, such as"
                        " `openssl rand -hex 32` gives",
                        field=name,
                    )
                return str(value or "")
            case "timezone":
                from zoneinfo import ZoneInfo  # imported only when this setting is used

                return ZoneInfo(value).key if value else ""
            case _ if name in _SWITCHES:
                return _SWITCH[str(value).strip().lower()]
            case "log_format":
                return LOG_FORMATS[LOG_FORMATS.index(str(value).strip().lower())]
            case "prompt_context":
                return PROMPT_CONTEXTS[PROMPT_CONTEXTS.index(str(value).strip().lower())]
            case "allowed_hosts" | "webhook_allow" | "fetch_allow" | "smtp_to":
                if isinstance(value, str):
                    value = value.split(",")
                return tuple(str(item).strip() for item in value if str(item).strip())
            case "cors_origins":
                if isinstance(value, str):
                    value = value.split(",")
                return tuple(_origin(str(item).strip()) for item in value if str(item).strip())
            case "proxy_header":
                return _header(str(value or "").strip())
            case "proxy_addresses":
                if isinstance(value, str):
                    value = value.split(",")
                return tuple(_network(str(item).strip()) for item in value if str(item).strip())
            case _:
                return str(value)
    except (LookupError, OSError, TypeError, ValueError):
        raise InputError(
            f"{name} cannot be {value!r}: write {_allowed(name)}, "
            f"in MEM_SEARCH_{name.upper()} or as {name} in config.toml",
            field=name,
        ) from None


def _origin(text: str) -> str:
    """A web origin as browsers send it (RFC 6454). Raises ValueError for anything else."""
    from urllib.parse import urlsplit  # imported only when this setting is used

    parts = urlsplit(text.lower().removesuffix("/"))
    authority = parts.hostname or ""
    if ":" in authority:
        authority = f"[{authority}]"
    if parts.port is not None and parts.port != {"http": 80, "https": 443}.get(parts.scheme):
        authority += f":{parts.port}"
    is_origin = parts.scheme in ("http", "https") and parts.hostname and "*" not in text
    if not is_origin or parts.username or parts.path or parts.query or parts.fragment:
        raise ValueError
    return f"{parts.scheme}://{authority}"


_OTHER_HEADERS = frozenset({
    "authorization", "cookie", "host", "origin", "forwarded", "via", "connection",
    "content-length", "content-type", "transfer-encoding", "user-agent", "accept",
})  # fmt: skip
"""What these say is something else, or comes from any client."""


def _header(name: str) -> str:
    """The name of a header (RFC 9110) that can carry a user. Raises ValueError for others."""
    known = name.lower()
    plain = name.replace("-", "").isalnum() and name.isascii()
    if name and (not plain or known in _OTHER_HEADERS or known.startswith("sec-")):
        raise ValueError
    return name


def _network(text: str) -> str:
    """An address, or a network such as ``10.0.0.0/8``. Raises ValueError for anything else."""
    from ipaddress import ip_network  # imported only when this setting is used

    return str(ip_network(text)) if "/" in text else str(ip_network(text).network_address)


def _allowed(name: str) -> str:
    match name:
        case "cors_origins":
            return "origins such as https://app.example.org, separated by commas; never *"
        case "proxy_header":
            return "the name of one header, such as X-Remote-User"
        case "proxy_addresses":
            return "addresses or networks separated by commas: 127.0.0.1,10.0.0.0/24"
        case "port":
            return "a number from 0 (any free port) to 65535"
        case "follow":
            return "seconds, 0 or more"
        case _ if name in _SECONDS:
            return "seconds, more than 0"
        case _ if name in _SWITCHES:
            return "true or false"
        case "log_format":
            return " or ".join(LOG_FORMATS)
        case "prompt_context":
            return ", ".join(PROMPT_CONTEXTS)
        case "store_owner":
            return f"a name of at most {_MAX_OWNER_CHARS} characters"
        case "timezone":
            return "an IANA name such as Europe/Berlin"
        case "allowed_hosts" | "webhook_allow" | "fetch_allow" | "smtp_to":
            return "names separated by commas"
        case _:
            return f"a whole number from {_MINIMUM[name]} to {MAX_LIMIT}"
