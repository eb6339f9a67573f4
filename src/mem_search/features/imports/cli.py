"""``sync``, ``unfollow`` and ``import``: what is read into the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from mem_search.agents.base import folders_in
from mem_search.cli.client import Client, open_client
from mem_search.cli.jobs import import_lines, tell_embedding, wait
from mem_search.cli.options import URL, absolute, standard_input
from mem_search.cli.output import note, say
from mem_search.errors import Forbidden, InputError, SourceError
from mem_search.regular_file import open_regular_file
from mem_search.text.counted import counted


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(sync)
    app.command()(unfollow)
    app.command("import")(import_file)


def sync(
    source: Annotated[str, typer.Argument(help="claude-code, git, mail, ...")] = "",
    path: Annotated[str, typer.Argument(help="One store, folder, repository or mailbox.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Read everything again.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the job and return.")] = False,
) -> None:
    """Import what is new from every source found on this machine, or from one location."""
    body: dict[str, Any] = {"cwd": str(Path.cwd())}
    if folders := folders_in(os.environ):
        body["environ"] = folders
    if source:
        body["source"] = source
    if path:
        body["path"] = absolute(path)
    if again:
        body["again"] = True
    client = open_client()
    job = _post(client, "/api/sync", body)["job"]
    if no_wait:
        say(f"job {job}\n")
        return
    result = wait(client, job, SourceError)["result"]
    say("".join(f"{line}\n" for line in import_lines(result)))
    _warn(client, result)
    tell_embedding(client)
    _tell_of_neighbours(source)
    if errors := result.get("errors"):
        raise SourceError("; ".join(str(error) for error in errors))


def _tell_of_neighbours(source: str) -> None:
    """Tell how the programs get on with the worker whose stores were read."""
    from mem_search.cli import neighbours
    from mem_search.daemon.control import running
    from mem_search.settings import Settings

    if source and source not in neighbours.SOURCES:
        return
    state = running(Settings.read())
    if state is not None:
        neighbours.tell(state.port)


def unfollow(
    source: Annotated[str, typer.Argument(help="The source, as mem-search stats names it.")],
    path: Annotated[str, typer.Argument(help="The store, folder, repository or mailbox.")],
) -> None:
    """Stop reading a location that no longer exists; its records stay."""
    body = {"source": source, "path": absolute(path)}
    client = open_client()
    done = _post(client, "/api/unfollow", body)["unfollowed"]
    say(f"{source} {done['path']}: no longer followed\n")
    if source == "mail" and URL.match(path):
        _forget_password(client, path)


def _forget_password(client: Client, url: str) -> None:
    """Forget the password of a mailbox, unless another folder of it is followed."""
    from mem_search.sources.mail.accounts import Account, keep_password

    account = Account.parse(url)
    followed = client.json("GET", "/api/stats")["sources"]
    others = [each["path"] for each in followed if each["source"] == "mail"]
    if all(Account.parse(other).name != account.name for other in others if URL.match(other)):
        keep_password(account, "")


def import_file(
    words: Annotated[
        list[str], typer.Argument(metavar="[SOURCE] FILE", help="A file; - is standard input.")
    ],
    source: Annotated[
        str, typer.Option("--source", help="The source; by default the name of the file decides.")
    ] = "",
    even_forgotten: Annotated[
        bool, typer.Option("--even-forgotten", help="Store forgotten records again.")
    ] = False,
) -> None:
    """Import one file; returns when its records can be found by their words."""
    *before, file = words
    if len(before) > 1 or (before and source not in ("", before[0])):
        raise InputError(f"import takes one source and one file, not {' '.join(words)!r}")
    source = source or "".join(before)
    named = "standard input"
    if file == "-":
        client = open_client()
        with standard_input("records") as stream:
            job = _upload(client, source, stream.buffer, even_forgotten=even_forgotten)
    else:
        path = named = absolute(file)
        if not Path(path).exists():
            if source:
                _check_source(source)
            raise InputError(f"{path} does not exist", field="path")
        client = open_client()
        job = _start_import(client, source, path, even_forgotten=even_forgotten)
    result = wait(client, job, SourceError)["result"]
    say("".join(f"{line}\n" for line in import_lines(result, named)))
    if (problem := _problem(client, result)) and not any(
        location.get(name) for location in result["locations"] for name in _STORED
    ):
        raise SourceError(problem)
    _warn(client, result)
    tell_embedding(client)


def _problem(client: Client, result: Mapping[str, Any]) -> str:
    """How many records could not be imported, and why the last could not; empty for none."""
    locations = [each for each in result["locations"] if each.get("failed")]
    if not locations:
        return ""
    pairs = [("source", locations[-1]["source"]), ("outcome", "failed"), ("limit", "1")]
    why = "".join(
        f"; {entry['item']}: {entry['reason']}"
        for entry in client.json("GET", "/api/ledger", pairs)["entries"]
    )
    failed = sum(int(each["failed"]) for each in locations)
    see = "mem-search ledger --outcome failed"
    return f"{counted(failed, 'record')} could not be imported{why}; see: {see}"


def _warn(client: Client, result: Mapping[str, Any]) -> None:
    if problem := _problem(client, result):
        note(f"mem-search: {problem}")


def _check_source(source: str) -> None:
    """Raises InputError if there is no such source. Two arguments may have been swapped."""
    # Importing every source takes long, and no other command needs them.
    from mem_search.sources import by_name

    with _as_argument():
        by_name(source)


def _start_import(client: Client, source: str, path: str, *, even_forgotten: bool) -> str:
    """The job that reads the file. The worker does not open files for a user, who sends them."""
    try:
        body: dict[str, Any] = {"source": source, "path": path}
        if even_forgotten:
            body["even_forgotten"] = True
        return str(_post(client, "/api/import", body)["job"])
    except Forbidden:
        try:
            with open_regular_file(path) as file:
                return _upload(client, source, file, Path(path).name, even_forgotten=even_forgotten)
        except OSError as error:
            why = f"cannot send {path}: {error.strerror}; - sends what comes in"
            raise InputError(why, field="path") from error


def _upload(
    client: Client, source: str, file: IO[bytes], name: str = "", *, even_forgotten: bool = False
) -> str:
    """The job that reads a file that is sent to the worker."""
    given = {"source": source, "name": name, "even_forgotten": "true" if even_forgotten else ""}
    pairs = [(key, value) for key, value in given.items() if value]
    with _as_argument():
        return str(client.upload("/api/import/upload", file, pairs)["job"])


def _post(client: Client, route: str, body: Mapping[str, Any]) -> Any:
    with _as_argument():
        return client.json("POST", route, body=body)


@contextmanager
def _as_argument() -> Iterator[None]:
    """An error about the source names the argument: in searches ``--source`` is an option."""
    try:
        yield
    except InputError as error:
        if error.field == "source":
            error.field = "SOURCE"
        raise


_STORED = ("new", "changed", "unchanged")
