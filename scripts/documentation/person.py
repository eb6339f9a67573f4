"""The files of a made-up person, Ada, whose machine the examples of the documents run on.

Ada builds a web shop with a coding agent, rents a workshop, and reads about lamps. Everything has a
fixed time, so that the documents show the same output each time. ``move_in`` writes what the story
of docs/getting-started.md begins with, ``bring_more`` what the other documents name besides.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1] / "shared"))

from papers import pdf

_WRITTEN: Final = 1781258400
"""12 June 2026, 10:00 UTC: when every file was changed last."""

_COMMITS: Final = (
    ("2026-02-10", "auth/tokens.py", "feat: sign in with access and refresh tokens",
     "An access token lasts fifteen minutes, a refresh token thirty days."),
    ("2026-03-03", "auth/refresh.py", "fix: refresh tokens under a lock",
     "Two tabs refreshed at once, and the server revoked both."),
    ("2026-04-14", "api/limits.py", "feat: rate limit of the login route",
     "Ten attempts a minute for each address, then status 429."),
    ("2026-05-06", "prices/cache.py", "perf: keep the price list for a minute",
     "The product page asked the database forty times."),
)  # fmt: skip

_SESSIONS: Final[tuple[tuple[str, str, list[Any]], ...]] = (
    ("5a1f0c2e-0001-4000-8000-000000000001", "2026-03-03T09:00", [
        "Customers are logged out when they have two tabs open. Find out why and repair it.",
        ("I look at how a token is refreshed.", "Read", {"file_path": "auth/refresh.py"},
         "def refresh(token): ...", False),
        ("Run the tests with two tabs at once.", "Bash",
         {"command": "pytest tests/auth/test_two_tabs.py"},
         "Exit code 1\nE   RevokedFamily: refresh token was already used", True),
        ("Both tabs send the same refresh token; the second use revokes the whole family. I decided"
         " to refresh under a lock instead of accepting an old token for some seconds, because a"
         " stolen token would be accepted as well.", "Edit",
         {"file_path": "auth/refresh.py", "old_string": "def refresh(token):",
          "new_string": "def refresh(token):\n    with family_lock(token):"}, "edited", False),
        ("", "Bash", {"command": "pytest tests/auth/test_two_tabs.py"}, "1 passed", False),
        "Customers stay logged in now: a tab waits for the lock and then uses the new token.",
    ]),
    ("5a1f0c2e-0002-4000-8000-000000000002", "2026-04-14T14:00", [
        "Somebody guesses passwords. Limit the login route.",
        ("I add a limit for each address.", "Edit",
         {"file_path": "api/limits.py", "old_string": "", "new_string": "LOGIN = Limit(10, 60)"},
         "edited", False),
        ("", "Bash", {"command": "pytest tests/api"}, "31 passed", False),
        "The login route allows ten attempts a minute for each address and then answers 429.",
    ]),
)  # fmt: skip

_NOTES: Final = {
    "lease.md": ("2026-01-12", "# Lease of the workshop\n\nThe lease ends on 31 August 2027. Notice"
                 " is three months. Mrs Quay keeps the second key. See [[heating]]."),
    "heating.md": ("2026-01-20", "# Heating\n\nThe radiator in the back room leaks. The plumber is"
                   " Marek, he comes on Thursdays."),
    "deploy.md": ("2026-03-20", "# How to deploy the shop\n\nMigrate the database first, then the"
                  " workers, then the web servers. Roll back with the tag before."),
}  # fmt: skip

_MAIL: Final = (
    ("rent@mail", "", "2026-06-02", "Mrs Quay <quay@example.org>", "Rent from September",
     "Dear Ada, from September the rent of the workshop is 640 euros a month."),
    ("answer@mail", "rent@mail", "2026-06-03", "Ada <ada@example.org>", "Re: Rent from September",
     "Dear Mrs Quay, that is fine, if the radiator is repaired before winter."),
)  # fmt: skip


def move_in(home: Path) -> None:
    """Write Ada's repository, sessions, notes, mail, bookmarks and a PDF into ``home``."""
    _repository(home / "shop")
    for session, begun, turns in _SESSIONS:
        folder = home / ".claude" / "projects" / "-home-me-shop"
        lines = _transcript(session, begun, str(home / "shop"), turns)
        _write(folder / f"{session}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    for name, (day, text) in _NOTES.items():
        _write(home / "notes" / name, f"---\ndate: {day}\n---\n{text}\n")
    for number, letter in enumerate(_MAIL):
        _write(home / "Mail" / f"{number}.eml", _letter(*letter))
    _write(home / "Documents" / "invoice.pdf", pdf([
        "Marek Heating Ltd", "Invoice", "Invoice number: 2026-114", "Invoice date: 2026-06-12",
        "Repair of a radiator", "Total: EUR 184.00", "Due date: 2026-07-12",
    ]))  # fmt: skip
    _write(
        home / "bookmarks.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n"
        '<DT><A HREF="https://lamps.example/led" ADD_DATE="1770000000" TAGS="lamp">Lamps that'
        " last</A>\n</DL><p>\n",
    )


def bring_more(home: Path) -> None:
    """Write what the other documents name: exports, an archive, a store of claude-mem."""
    _write(home / "letter.pdf", pdf(["Dear Ada, the lamps arrive on Monday."]))
    _write(home / "Documents" / "letter.pdf", pdf(["Dear Ada, the lamps arrive on Tuesday."]))
    _write(home / "letter.txt", "Dear Ada, the tax is due in July.\n")
    letters = [_letter(*each).replace("@mail>", "@box>") for each in _MAIL]
    boxed = "".join(f"From ada@example.org Tue Jun  2 10:00:00 2026\n{each}\n" for each in letters)
    _write(home / "archive.mbox", boxed)
    for part in ("cur", "new", "tmp"):
        (home / "Maildir" / part).mkdir(parents=True)
    _write(home / "Maildir" / "cur" / "1", _letter(
        "oil@mail", "", "2026-06-05", "Ada <ada@example.org>", "Lease and lamp oil",
        "The lease says who pays for the oil."))  # fmt: skip
    records = (
        {"kind": "note", "source_id": "a", "title": "Auth tokens", "created_at": "2026-01-02",
         "text": "auth tokens expire after an hour; the rate limit is ten", "project": "web"},
        {"kind": "note", "source_id": "b", "title": "Old prices", "created_at": "2025-05-02",
         "text": "prices of the old shop", "project": "old-shop"},
    )  # fmt: skip
    _write(home / "notes.jsonl", "".join(json.dumps(each) + "\n" for each in records))
    _write(home / "session.jsonl", "".join(
        json.dumps(line) + "\n"
        for line in _transcript("5a1f0c2e-0003", "2026-05-01T08:00", "/gone/lamps",
                                ["Which lamps last longest?", "Lamps with LEDs do."])))  # fmt: skip
    page = "https://a.org/rents"
    _write(
        home / "research-archive" / "rents.md",
        "---\nquery: Why do rents rise?\ndate: 2026-02-01\ntype: report\n---\n# Rents\n\n"
        f"Rents rose by 4 % because few flats are built [1].\n\n[1] Rents in 2026, {page}\n",
    )
    _write(
        home / "url-content-archive" / "rents.md",
        f"---\nurl: {page}\ntitle: Rents in 2026\ndate: 2026-01-15\n---\nRents rose by 4 %.\n",
    )
    _codex(home / ".codex" / "sessions" / "2026" / "05" / "01")
    _chats(home / "Downloads" / "export.zip")
    _claude_mem(home / ".claude-mem" / "claude-mem.db")


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, (_WRITTEN, _WRITTEN))


def _repository(root: Path) -> None:
    def git(*words: str, day: str = "2026-02-10") -> None:
        person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": f"{day}T10:00:00Z"}
        named = {f"GIT_{r}_{k}": v for r in ("AUTHOR", "COMMITTER") for k, v in person.items()}
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", *words], cwd=root, env=plain | quiet | named, check=True)

    root.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    for day, name, subject, body in _COMMITS:
        _write(root / name, f"# {subject}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"{subject}\n\n{body}", day=day)


def _transcript(session: str, begun: str, cwd: str, turns: list[Any]) -> Iterator[dict[str, Any]]:
    """The lines of Claude Code: a string is what is said, the first by the person; a tuple is a
    call of a tool with what was said before it, its name, input and result, and whether it failed.
    """
    number = 0

    def line(role: str, content: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        said = {"role": role, "content": content} | ({"id": f"m{number}"} if role[0] == "a" else {})
        return {
            "type": role, "uuid": f"{session}-{number}", "sessionId": session, "cwd": cwd,
            "timestamp": f"{begun}:{number:02}.000Z", "gitBranch": "main", "message": said,
        }  # fmt: skip

    for turn in turns:
        if isinstance(turn, str):
            text = [{"type": "text", "text": turn}]
            yield line("user", turn) if number == 0 else line("assistant", text)
            continue
        said, name, taken, result, failed = turn
        key = f"t{number}"
        if "file_path" in taken:
            taken = taken | {"file_path": f"{cwd}/{taken['file_path']}"}
        text = [{"type": "text", "text": said}] if said else []
        yield line(
            "assistant", [*text, {"type": "tool_use", "id": key, "name": name, "input": taken}]
        )
        answer = {"type": "tool_result", "tool_use_id": key, "content": result, "is_error": failed}
        yield line("user", [answer])


def _letter(name: str, answers: str, day: str, sender: str, subject: str, text: str) -> str:
    reply = f"In-Reply-To: <{answers}>\n" if answers else ""
    month, date = {"06": "Jun"}[day[5:7]], int(day[8:])
    return (
        f"From: {sender}\nTo: Ada <ada@example.org>\nSubject: {subject}\nMessage-ID: <{name}>\n"
        f"{reply}Date: {date} {month} {day[:4]} 10:00:00 +0000\n\n{text}\n"
    )


def _codex(folder: Path) -> None:
    """A session of Codex CLI."""

    def said(role: str, sort: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": sort, "text": text}]}

    entries = (
        ("session_meta", {"id": "c0de", "cwd": "/gone/lamps", "timestamp": "2026-05-01T10:00:00Z"}),
        ("response_item", said("user", "input_text", "Which oil do the lamps take?")),
        ("response_item", said("assistant", "output_text", "Paraffin oil.")),
    )  # fmt: skip
    lines = (
        json.dumps({"timestamp": f"2026-05-01T10:00:0{n}Z", "type": sort, "payload": payload})
        for n, (sort, payload) in enumerate(entries)
    )
    _write(folder / "rollout-2026-05-01T10-00-00-c0de.jsonl", "\n".join(lines) + "\n")


def _chats(path: Path) -> None:
    """An export of ChatGPT with one conversation."""
    tree: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    for name, parent, role, words in (
        ("q", "root", "user", "How do I trim a wick?"), ("a", "q", "assistant", "Cut it straight."),
    ):  # fmt: skip
        message = {"author": {"role": role}, "create_time": 1770000000.0,
                   "content": {"content_type": "text", "parts": [words]}}  # fmt: skip
        tree[name] = {"id": name, "parent": parent, "message": message}
    talk = {"title": "Wicks", "conversation_id": "w1", "mapping": tree, "current_node": "a"}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("conversations.json", json.dumps([talk]))


def _claude_mem(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table sdk_sessions(
                id integer primary key, content_session_id text, memory_session_id text,
                project text, platform_source text);
            create table observations(
                id integer primary key, memory_session_id text, project text, text text,
                type text, title text, subtitle text, facts text, narrative text, concepts text,
                files_read text, files_modified text, prompt_number integer,
                created_at_epoch integer);
            create table session_summaries(
                id integer primary key, memory_session_id text, project text, request text,
                learned text, created_at_epoch integer);
            insert into sdk_sessions values(1, 'c1', 'm1', 'shop', 'claude');
            insert into observations(id, memory_session_id, project, type, title, narrative,
                    created_at_epoch)
                values(2001, 'm1', 'shop', 'bugfix', 'Login page', 'The login page is slow.',
                       1760000000000);
            """
        )
