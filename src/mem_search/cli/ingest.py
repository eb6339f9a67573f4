"""``sync``, ``unfollow``, ``import`` and ``export``: records in and out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from mem_search.cli.client import Client, local, note, open_client
from mem_search.cli.output import write, write_bytes
from mem_search.cli.progress import wait
from mem_search.errors import Forbidden, InputError, SourceError

_COUNTS = (
    ("new", "new"), ("changed", "changed"), ("deleted", "deleted"), ("failed", "failed"),
    ("forgotten", "left, deleted here before"),
)  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(sync)
    app.command()(unfollow)
    app.command("import")(import_file)
    app.command()(export)


def sync(
    source: Annotated[str, typer.Argument(help="claude-mem, claude-code, git, ...")] = "",
    path: Annotated[str, typer.Argument(help="One store, folder or repository of it.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Read everything once more.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the end.")] = False,
) -> None:
    """Read what is new: in everything found on this machine, or in one location."""
    body: dict[str, Any] = {"cwd": str(Path.cwd())}
    if source:
        body["source"] = source
    if path:
        body["path"] = absolute(path)
    if again:
        body["again"] = True
    client = open_client()
    job = _asked(client, "/api/sync", body)["job"]
    if no_wait:
        write(f"job {job}\n")
        return
    result = wait(client, job, SourceError)["result"]
    write("".join(f"{line}\n" for line in summary(result)))
    _warn(result)
    if errors := result.get("errors"):
        raise SourceError("; ".join(str(error) for error in errors))


def unfollow(
    source: Annotated[str, typer.Argument(help="Its source, as in: mem-search stats.")],
    path: Annotated[str, typer.Argument(help="The store, folder or repository.")],
) -> None:
    """Stop reading a location that no longer exists; its records stay."""
    body = {"source": source, "path": absolute(path)}
    _asked(open_client(), "/api/unfollow", body)
    write(f"{source} {body['path']}: no longer followed\n")


def import_file(
    words: Annotated[
        list[str], typer.Argument(metavar="[SOURCE] FILE", help="A file; - is standard input.")
    ],
    source: Annotated[
        str, typer.Option("--source", help="Which source reads it, else the file's name tells.")
    ] = "",
) -> None:
    """Read one file from its start; returns when its records can be found by their words."""
    *before, file = words
    if len(before) > 1 or (before and source not in ("", before[0])):
        raise InputError(f"import takes one source and one file, not {' '.join(words)!r}")
    source = source or "".join(before)
    named = "standard input"
    if file == "-":
        client = open_client()
        job = _sent(client, source, sys.stdin.buffer)
    else:
        path = named = absolute(file)
        if not Path(path).exists():
            if source:
                _known(source)
            raise InputError(f"{path} does not exist", field="path")
        client = open_client()
        job = _handed_over(client, source, path)
    result = wait(client, job, SourceError)["result"]
    write("".join(f"{line}\n" for line in summary(result, named)))
    if (problem := _problem(result)) and not any(
        place.get(name) for place in result["locations"] for name in _STORED
    ):
        raise SourceError(problem)
    _warn(result)


def _problem(result: Mapping[str, Any]) -> str:
    """How much could not be used; empty for nothing."""
    failed = sum(int(place.get("failed", 0)) for place in result["locations"])
    return f"{failed} record(s) could not be used; see: mem-search ledger" if failed else ""


def _warn(result: Mapping[str, Any]) -> None:
    if problem := _problem(result):
        note(f"mem-search: {problem}")


def _known(source: str) -> None:
    """Raises InputError if there is no such source. Two arguments may have been swapped."""
    # Importing every source takes long, and no other command needs them.
    from mem_search.sources import by_name

    with _named_here():
        by_name(source)


def _handed_over(client: Client, source: str, path: str) -> str:
    """The job that reads the file. The worker does not open files for a user, who sends them."""
    try:
        return str(_asked(client, "/api/import", {"source": source, "path": path})["job"])
    except Forbidden:
        try:
            with Path(path).open("rb") as file:
                return _sent(client, source, file, Path(path).name)
        except OSError as error:
            raise InputError(f"cannot send {path}: {error.strerror}", field="path") from error


def _sent(client: Client, source: str, file: IO[bytes], name: str = "") -> str:
    """The job that reads a file that is sent to the worker."""
    pairs = [(key, value) for key, value in (("source", source), ("name", name)) if value]
    with _named_here():
        return str(client.upload("/api/import/upload", file, pairs)["job"])


def _asked(client: Client, route: str, body: Mapping[str, Any]) -> Any:
    with _named_here():
        return client.json("POST", route, body=body)


@contextmanager
def _named_here() -> Iterator[None]:
    """The source is the first word here; elsewhere there is an option of that name."""
    try:
        yield
    except InputError as error:
        if error.field == "source":
            error.field = "SOURCE"
        raise


_STORED = ("new", "changed", "unchanged")


def export(
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind.")] = None,
    project: Annotated[str, typer.Option("--project", help="Only this project.")] = "",
    since: Annotated[str, typer.Option("--since", metavar="WHEN", help="Not before.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="WHEN", help="Not after.")] = "",
) -> None:
    """Write records to standard output, one JSON object a line, as import reads them."""
    single = (("project", project), ("dateStart", since), ("dateEnd", until))
    pairs = [*(("kinds", each) for each in kind or ()), *((n, v) for n, v in single if v)]
    _pour(open_client(), pairs)


def _pour(client: Client, pairs: list[tuple[str, str]]) -> None:
    for piece in client.stream("/api/export", local(pairs)):
        if not write_bytes(piece):
            break


def absolute(path: str) -> str:
    """``path`` as the worker, which stands elsewhere, has to be told."""
    return str(Path(path).expanduser().resolve())


def summary(result: Mapping[str, Any], name: str = "") -> Iterable[str]:
    """A line for each place that was read: ``git /home/me/web: 120 new, 3 changed``."""
    for place in result["locations"]:
        counts = [f"{place[key]} {word}" for key, word in _COUNTS if place.get(key)]
        said = "failed" if "error" in place else ", ".join(counts) or "nothing new"
        yield f"{place['source']} {name or place['path']}: {said}"
