"""``mem-search doctor``: what is missing, and the command that repairs it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from mem_search import __version__
from mem_search.cli import local_checks, neighbours
from mem_search.cli.client import Client
from mem_search.cli.local_checks import Finding, problem_and_fix
from mem_search.cli.options import Json, show
from mem_search.daemon.control import running
from mem_search.daemon.home_files import odd_files
from mem_search.daemon.probe import probe
from mem_search.daemon.state import WorkerState
from mem_search.errors import MemSearchError, Unavailable
from mem_search.platform import expanded
from mem_search.settings import Settings
from mem_search.text.counted import counted


def worker(settings: Settings, state: WorkerState) -> Iterator[Finding]:
    """Findings about the worker that ``state`` describes."""
    detail = f"pid {state.pid} at {state.url}, version {state.version}"
    if state.version == __version__:
        yield Finding("worker", "ok", detail)
    else:
        stale = f"{detail}, but {__version__} is installed"
        yield Finding("worker", "missing", stale, "mem-search worker restart")
    yield local_checks.unix_socket(state)
    try:
        client = Client.of(settings, may_start=False)
        stats: Mapping[str, Any] = client.json("GET", "/api/stats")
        aside = client.json("GET", "/api/jobs", [("state", "set_aside"), ("limit", "100")])
        newest = client.json("GET", "/api/jobs", [("limit", "100")])
        wanted = [("outcome", "failed"), ("limit", str(_MAX_FAILED))]
        failed = client.json("GET", "/api/ledger", wanted)["entries"]
    except MemSearchError as error:
        yield Finding("answers", "missing", error.message, "mem-search worker logs")
        return
    if reason := stats["database"]["unwritable"]:
        detail = f"nothing can be stored, searches are answered: {reason}"
        fix = "df -h, and free some space; then it goes on by itself"
        yield Finding("store", "missing", detail, fix)
    for row in stats["database"]["odd_rows"]:
        fix = "make it again" if "set aside" in row else "read or forget it"
        yield Finding("row", "advice", row, f"{fix}, then: mem-search purge")
    yield from sample_search(client, stats)
    yield from replica(stats)
    yield from embedder(stats)
    if stats["embedder"]["dimensions"]:  # without a model there are no vectors to check
        yield index(stats)
        yield from index_protection(stats)
        yield coverage(stats)
    yield sparse(stats)
    yield from kinds(stats)
    yield from unread(stats)
    yield from unreadable(stats)
    yield from unread_items(failed)
    yield from transcripts(stats, os.environ)
    yield from set_aside(aside["jobs"])
    yield from redacted_again(newest["jobs"])
    yield from reembedding(stats, newest["jobs"])


def sample_search(client: Client, stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether a search for a word of the newest record finds something, and what it says of itself.

    It reads what every search reads: words, vectors and columns.
    """
    if not stats["records"]["total"]:
        return
    try:
        asked = [("limit", "1"), ("format", "json")]
        newest = client.json("GET", "/api/search/unified", [("query", "*"), *asked])["results"]
        words = re.findall(r"[^\W\d_]{3,}", newest[0]["title"] or newest[0]["snippet"] or "")
        if not words:
            return
        page = client.json("GET", "/api/search", [("query", words[0]), *asked])
    except MemSearchError as error:
        fix = "mem-search index audit; then, if it is still so: mem-search worker logs"
        yield Finding("search", "missing", error.message, fix)
        return
    said = page["search"]
    failed = [f"{leg['name']}: {leg['detail']}" for leg in said["legs"] if leg["state"] == "failed"]
    told = [each for each in said["notices"] if "damaged" in each]
    if failed or not page["total"]:
        nothing = f"the word {words[0]!r} of the newest record is not found"
        detail = "; ".join(failed) or nothing
        yield Finding("search", "missing", detail, "mem-search index audit")
    elif told:
        yield Finding("search", "advice", "; ".join(told), "mem-search doctor")
    else:
        yield Finding("search", "ok", f"a word of the newest record finds {page['total']}")


def replica(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the replica of the store's server answers searches, if there is one."""
    status = stats["replica"]
    if not status:
        return
    lag = "" if status["lag_s"] is None else f", {status['lag_s']:g} s behind"
    if status["state"] == "used":
        yield Finding("replica", "ok", f"{status['place']} answers searches{lag}")
    elif status["state"] == "alone":
        detail = f"{status['place']} answers searches{lag}, because {status['detail']}"
        yield Finding("replica", "missing", detail, "start the server of MEM_SEARCH_STORE")
    else:
        detail = f"{status['place']}{lag}: {status['detail']}; the primary answers searches"
        fix = "look at the log of that server, or unset MEM_SEARCH_STORE_REPLICA"
        yield Finding("replica", "advice", detail, fix)


def reembedding(stats: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """A change of the embedding model that is under way, or was not finished."""
    beside = stats["embedder"].get("beside")
    if not beside:
        return
    served, others = stats["embedder"]["name"], ", ".join(beside)
    job = next((each for each in jobs if each["name"] == "reembed"), None)
    if job is not None and job["state"] in ("queued", "running"):
        share = f"{job['done']} of {job['total']} passages" if job["total"] else "it begins"
        detail = f"from {served} to {others}: {share}; searches use {served} until it is done"
        yield Finding("model change", "advice", detail, f"mem-search jobs {job['id']}")
        return
    ended = f"; the last change {job['state']}: {job['message']}" if job is not None else ""
    detail = f"vectors by {others} are stored and not searched{ended.removesuffix(': ')}"
    fix = f"mem-search reembed --model NAME, to go on; of {served}: to delete them"
    yield Finding("model change", "advice", detail, fix)


def set_aside(jobs: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Jobs over which the worker ended twice."""
    for job in jobs:
        detail = job["message"].partition("; to try again")[0]
        retry = f"mem-search jobs {job['id']} --retry"
        skip = f"; to leave that out: {retry} --without-item" if job["result"].get("item") else ""
        yield Finding(f"job {job['id']}", "missing", detail, f"{retry}{skip}")


def redacted_again(jobs: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """The job that redacts what an older version stored, if there was one in the last week."""
    job = next((each for each in jobs if each["name"] == "redact"), None)
    if job is None or job["state"] == "set_aside":
        return
    show = f"mem-search jobs {job['id']}"
    if job["state"] == "done":
        changed, texts = (job["result"][name] for name in ("changed", "texts"))
        affected = f"{counted(changed, 'record')} and {counted(texts, 'other text')}"
        detail = f"what an older version stored was redacted again: {affected} had a secret"
        if facts := job["result"].get("facts"):
            detail += f"; facts such as amounts were found in {counted(facts, 'document')}"
        if related := job["result"].get("citations"):
            pages = counted(related, "report or page", "reports and pages")
            detail += f"; citations were looked for in {pages}"
        if left := job["result"]["left"]:
            unprepared = f"{counted(left, 'record')} could not be redacted"
            yield Finding("redaction", "missing", unprepared, "mem-search worker logs")
        yield Finding("redaction", "ok", detail)
    elif job["state"] in ("queued", "running"):
        detail = f"what an older version stored is being redacted again: {job['message']}"
        yield Finding("redaction", "advice", detail.removesuffix(": "), show)
    else:
        detail = f"what an older version stored was not redacted again: {job['message']}"
        yield Finding("redaction", "missing", detail, f"{show} --retry")


def embedder(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Why the worker cannot embed; then only words are searched."""
    waits = stats["database"].get("unwritable")  # that says why, too
    if (error := stats["embedder"]["error"]) and not waits:
        problem, fix = problem_and_fix(error)
        first = f"{fix} &&" if fix else "repair that, or unset MEM_SEARCH_EMBEDDER, then"
        yield Finding("embedding", "missing", problem, f"{first} mem-search worker restart")


def index(stats: Mapping[str, Any]) -> Finding:
    """The state of the vector index."""
    state, detail = stats["index"]["state"], stats["index"]["detail"]
    shown = f"{state}: {detail}" if detail else state
    if state == "starting":
        return Finding("index", "advice", "it is starting", "mem-search index status")
    if state == "filling":
        return Finding(
            "index", "advice", f"it is being filled: {detail}", "mem-search index status"
        )
    if state == "degraded":
        return Finding("index", "missing", shown, "mem-search index rebuild")
    return Finding("index", "ok", shown)


_PROTECTIONS = {
    "namespace": "a network of its own: only the worker can connect",
    "address": "a random address and port of this machine, without a password",
    "port": "a random port of 127.0.0.1, without a password",
    "server": "a server of your own; its protection is yours",
}


def index_protection(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """What keeps other programs of this machine away from the vector index."""
    protection, refusal = stats["index"]["protection"], stats["index"]["refusal"]
    if protection in _PROTECTIONS:
        why = f" (no network of its own: {refusal}; see docs/security.md)" if refusal else ""
        yield Finding("index access", "ok", f"{_PROTECTIONS[protection]}{why}")


def coverage(stats: Mapping[str, Any]) -> Finding:
    """Whether every passage can be found by its meaning."""
    if stats["index"]["state"] == "off":
        share = f"{stats['embedded']} of {stats['passages']} passages have vectors"
        if stats["embedded"] < stats["passages"]:
            return Finding("coverage", "advice", share, "mem-search index status")
        return Finding("coverage", "ok", share)
    detail = f"{stats['indexed']} of {stats['passages']} passages indexed"
    if stats["embedding_coverage"] >= 1:
        return Finding("coverage", "ok", detail)
    waiting = f"{detail}; the worker continues, and words find the others meanwhile"
    return Finding("coverage", "advice", waiting, "mem-search index status")


def sparse(stats: Mapping[str, Any]) -> Finding:
    """Whether the third score of hybrid searches has its vectors."""
    made = stats["sparse"]
    if made["state"] == "off":
        return Finding("sparse vectors", "ok", "off (MEM_SEARCH_SPARSE)")
    if made["error"]:
        return Finding("sparse vectors", "advice", made["error"], "mem-search worker restart")
    detail = f"{made['passages']} of {made['wanted']} passages have one"
    if made["state"] == "ok":
        return Finding("sparse vectors", "ok", detail)
    return Finding("sparse vectors", "advice", detail, "mem-search stats; the worker goes on")


def kinds(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Plug-ins that cannot be loaded, and kinds of stored records whose plug-in is missing."""
    for error in stats["broken_plugins"]:
        yield Finding("plug-in", "missing", error, "mem-search worker restart")
    for kind, count in stats["missing_kinds"].items():
        detail = f"no installed package provides this kind of {counted(count, 'record')}"
        fix = "install its package, then: mem-search worker restart"
        yield Finding(f"kind {kind}", "advice", detail, fix)


def unread(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Locations found on this machine that were never synced."""
    # Heavy: a source imports the libraries that it reads with.
    from mem_search.contracts import Machine
    from mem_search.sources import installed

    known = {(each["source"], each["path"]) for each in stats["sources"]}
    home = Path(os.environ.get("HOME") or Path.home())
    machine = Machine(home=home, cwd=Path.cwd(), environ=os.environ)
    for source in installed():
        for location in source.discover(machine):
            if (location.source, location.path) not in known:
                detail = f"{location.path} has not been read yet"
                fix = f"mem-search sync {location.source}"
                yield Finding(f"source {location.source}", "advice", detail, fix)


def unreadable(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Locations that could not be read the last time."""
    for each in stats["sources"]:
        if each["error"]:
            place = f"{each['source']} {quote(each['path'])}"
            fix = f"mem-search sync {place}; if it no longer exists: mem-search unfollow {place}"
            yield Finding(f"source {each['source']}", "missing", each["error"], fix)


_MAX_FAILED = 500
"""Entries of the ledger that are looked at, the newest; that is what one reply may have."""


def unread_items(failed: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Sources with files, lines or items that could not be read or were not understood."""
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for each in failed:
        by_source.setdefault(each["source"], []).append(each)
    more = " or more" if len(failed) >= _MAX_FAILED else ""
    for source, entries in sorted(by_source.items()):
        newest = entries[0]
        detail = (
            f"not read: {len(entries)}{more}, the newest {newest['location']}"
            f" {newest['item']}: {newest['reason']}"
        )
        fix = f"mem-search ledger --source {source} --outcome failed"
        yield Finding(f"source {source}", "advice", detail, fix)


def transcripts(stats: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether transcripts outlive Claude Code, which deletes them ``cleanupPeriodDays`` later, and
    Gemini CLI, which does so after 30 days.
    """
    sources = {each["source"] for each in stats["sources"]}
    if sources.isdisjoint(("claude-code", "gemini")):
        return
    kept = stats["transcripts"]
    if kept["error"]:
        yield Finding("transcripts", "missing", kept["error"], "mem-search worker logs")
        return
    folder = environ.get("CLAUDE_CONFIG_DIR") or str(Path(environ.get("HOME", "~")) / ".claude")
    days = local_checks.cleanup_days(Path(expanded(folder)) / "settings.json")
    program = "Claude Code" if "claude-code" in sources else "Gemini CLI"
    if program == "Gemini CLI":
        days = local_checks.CLEANUP_DAYS
    if kept["on"]:
        detail = f"kept: {kept['files']}; {program} deletes its own after {days} days"
        yield Finding("transcripts", "ok", detail)
    elif days < _LONG_ENOUGH:
        yield Finding(
            "transcripts",
            "advice",
            f"{program} deletes its transcripts after {days} days, and no copy is kept;"
            " `sync --again` cannot read them then",
            "MEM_SEARCH_KEEP_TRANSCRIPTS=1 mem-search worker restart"
            + f", or raise cleanupPeriodDays in {folder}/settings.json"
            * (program == "Claude Code"),
        )


_LONG_ENOUGH = 365
_SIGNS = {"ok": "ok", "advice": "hint", "missing": "FAIL"}
_COLOURS = {"ok": "32", "hint": "33", "FAIL": "31"}


def doctor(as_json: Json = False) -> None:
    """Check everything that mem-search needs; exit 0 when all is well, 1 when not."""
    findings = list(examine(Settings.read()))
    answer = {"version": __version__, "findings": [asdict(each) for each in findings]}
    printed = (line for each in findings for line in lines(each))
    show(answer, printed, as_json=as_json, paint=coloured)
    if any(each.state == "missing" for each in findings):
        raise typer.Exit(1)


def examine(settings: Settings) -> Iterator[Finding]:
    """Every check, in the order in which problems should be repaired."""
    yield local_checks.python()
    yield local_checks.home(settings)
    yield local_checks.modes(settings)
    yield from local_checks.misspelt(os.environ)
    for odd in odd_files(settings.home):
        yield Finding(str(odd.path.relative_to(settings.home)), "missing", odd.problem, odd.fix)
    yield local_checks.disk(settings)
    yield local_checks.database(settings)
    yield local_checks.model(settings)
    yield local_checks.chroma(settings)
    yield from local_checks.agents(settings)
    yield from local_checks.events(settings)
    yield from local_checks.service(settings)
    unknown: Unavailable | None = None
    state: WorkerState | None = None
    try:
        state = running(settings)
    except Unavailable as error:
        unknown = error
    port = settings.port if state is None else state.port
    other = probe("127.0.0.1", port, timeout=0.5) if state is None else None
    for finding in neighbours.findings(port):
        if other is None or other.service != finding.name:
            yield finding  # else the port says it
    if unknown is not None:
        detail = unknown.message.partition("; run: ")[0]
        yield Finding("worker", "missing", detail, "mem-search worker restart")
        return
    if state is None:
        yield local_checks.port(settings)
        yield Finding(
            "worker", "advice", "not running; the next command starts it", "mem-search worker start"
        )
    else:
        yield from worker(settings, state)


def lines(finding: Finding) -> Iterator[str]:
    """A line for the finding and one for its repair."""
    yield f"{_SIGNS[finding.state]:<4}  {finding.name}: {finding.detail}"
    if finding.fix:
        yield f"      run: {finding.fix}"


def coloured(text: str) -> str:
    """The lines with the colour of their state."""
    return re.sub(
        r"(?m)^(ok|hint|FAIL) *(?=  )",
        lambda sign: f"\x1b[{_COLOURS[sign[1]]}m{sign[0]}\x1b[0m",
        text,
    )
