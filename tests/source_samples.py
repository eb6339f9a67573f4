"""A small sample of the input of each source, made in a folder."""

import json
import os
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import agent_sessions
import editor_sessions
import export_samples
from mem_search.records.registry import installed_kinds
from mem_search.sources import for_path


def claude_mem(folder: Path) -> Path:
    path = folder / "claude-mem.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table sdk_sessions(
                id integer primary key, content_session_id text, memory_session_id text,
                project text, platform_source text);
            create table observations(
                id integer primary key, memory_session_id text, project text, text text,
                type text, title text, subtitle text, facts text, narrative text,
                concepts text, files_read text, files_modified text, prompt_number integer,
                created_at_epoch integer);
            create table session_summaries(
                id integer primary key, memory_session_id text, project text, request text,
                learned text, created_at_epoch integer);
            insert into sdk_sessions values(1, 'c1', 'm1', 'harbour', 'claude');
            insert into observations(id, memory_session_id, project, type, title, narrative,
                    facts, created_at_epoch)
                values(1, 'm1', 'harbour', 'bugfix', 'Lamp', 'The lamp burns.', '["lit"]', 1000),
                      (2, 'm1', 'harbour', 'change', 'Pier', 'The pier is long.', '[]', 2000);
            insert into session_summaries values(1, 'm1', 'harbour', 'Light it', 'How', 3000);
            """
        )
    return path


def claude_code(folder: Path) -> Path:
    said = [
        ("user", {"role": "user", "content": "Fix the lamp in the harbour, please"}),
        (
            "assistant",
            {
                "id": "m1",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "Edit",
                        "input": {"file_path": "/gone/harbour/lamp.py"},
                    }
                ],
            },
        ),
        (
            "user",
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}],
            },
        ),
        (
            "assistant",
            {"id": "m2", "content": [{"type": "text", "text": "The lamp burns again."}]},
        ),
    ]
    lines = [
        {
            "type": kind,
            "uuid": f"u{number}",
            "sessionId": "s1",
            "timestamp": f"2026-01-01T00:00:0{number}.000Z",
            "cwd": "/gone/harbour",
            "message": message,
        }
        for number, (kind, message) in enumerate(said)
    ]
    path = folder / "projects" / "-gone-harbour" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "projects"


def git(folder: Path) -> Path:
    person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-03-01T10:00:00Z"}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{f"GIT_{role}_{key}": v for role in ("AUTHOR", "COMMITTER") for key, v in person.items()},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    path = folder / "repository"
    path.mkdir()
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "fix: light the lamp"],
        ["commit", "-q", "--allow-empty", "-m", "feat: lengthen the pier"],
    ):
        subprocess.run(  # no upkeep that is still at work when the sample is read
            ["git", "-c", "maintenance.auto=false", *arguments],
            cwd=path,
            env=environment,
            check=True,
        )
    return path


def jsonl(folder: Path) -> Path:
    path = folder / "records.jsonl"
    path.write_text(
        "".join(json.dumps({"kind": kind, "text": "x"}) + "\n" for kind in installed_kinds().names)
    )
    return path


def mbox(folder: Path) -> Path:
    path = folder / "letters.mbox"
    letters = (
        ("1@harbour", "The lamp", "The lamp burns again."),
        ("2@harbour", "=?utf-8?q?The_pier_=E2=80=94_longer?=", "Lengthen the pier by ten metres."),
    )
    path.write_text(
        "".join(
            f"From ada@example.org Sun Mar  1 10:00:0{number} 2026\nFrom: Ada <ada@example.org>\n"
            f"To: Bob <bob@example.org>\nSubject: {subject}\nMessage-ID: <{name}>\n"
            f"Date: Sun, 01 Mar 2026 10:00:0{number} +0000\n\n{text}\n\n"
            for number, (name, subject, text) in enumerate(letters)
        )
    )
    return path


def mail(folder: Path) -> Path:
    box = mbox(folder)
    path = folder / "mail"
    path.mkdir()
    box.rename(path / "letters.mbox")
    (path / "lease.eml").write_text(
        "From: Ada <ada@example.org>\nSubject: The lease\nMessage-ID: <3@harbour>\n\nSign it.\n"
    )
    return path


def files(folder: Path) -> Path:
    path = folder / "documents"
    path.mkdir()
    (path / "lamp.txt").write_text("The lamp burns again.")
    (path / "pier.md").write_text("# Pier\n\nThe pier is long, see [[lamp]].")
    return path


def bookmarks(folder: Path) -> Path:
    path = folder / "bookmarks.html"
    path.write_text(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n"
        "<DL><p>\n<DT><H3>Harbour</H3>\n<DL><p>\n"
        '<DT><A HREF="https://lamps.example/oil" ADD_DATE="1700000000" TAGS="sea,oil">Lamp oil</A>'
        "\n<DD>Where to buy it\n"
        '<DT><A HREF="https://pier.example/?a=1&amp;b=2">Pier &amp; quay</A>\n</DL><p>\n'
        '<DT><A HREF="javascript:alert(1)">A trick</A>\n</DL><p>\n'
    )
    return path


def chatgpt(folder: Path) -> Path:
    def node(name: str, parent: str | None, role: str, words: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [words]}
        message = {"author": {"role": role}, "content": content, "create_time": 1700000000.5}
        return {"id": name, "parent": parent, "message": message}

    tree = {
        "root": {"id": "root", "parent": None, "message": None},
        "a": node("a", "root", "user", "How do I trim a wick?"),
        "b": node("b", "a", "assistant", "An answer that was not kept."),
        "c": node("c", "a", "assistant", "Cut it straight\ue200cite\ue202turn0\ue201."),
    }
    path = folder / "conversations.json"
    path.write_text(
        json.dumps(
            [
                {"title": "Wicks", "conversation_id": "w1", "mapping": tree, "current_node": "c"},
                {"title": "Empty", "conversation_id": "w2", "mapping": {}, "current_node": "x"},
            ]
        )
    )
    return path


def claude_ai(folder: Path) -> Path:
    messages = [
        {
            "sender": "human",
            "text": "Read this log",
            "created_at": "2026-01-01T10:00:00Z",
            "attachments": [{"file_name": "log.txt", "extracted_content": "The lamp went out."}],
        },
        {
            "sender": "assistant",
            "text": "It went out. <tool>",
            "content": [{"type": "text", "text": "It went out."}, {"type": "tool_use"}],
            "created_at": "2026-01-01T10:00:05Z",
        },
    ]
    path = folder / "conversations.json"
    talk = {"uuid": "u1", "name": "The log", "chat_messages": messages}
    path.write_text(json.dumps([talk, {"uuid": "u2", "name": "", "chat_messages": []}]))
    return path


def slack(folder: Path) -> Path:
    path = folder / "slack.zip"
    people = [{"id": "U1", "name": "ada", "profile": {"display_name": "Ada"}}]
    messages = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1"},
        {"type": "message", "user": "U1", "ts": "1700000000.000100",
         "text": "<@U1> see <https://lamps.example|the lamps> &amp; <#C1|pier>"},
        {"type": "message", "username": "robot", "ts": "1700000001.5", "text": "Lamp is out"},
    ]  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", json.dumps(people))
        archive.writestr("channels.json", "[]")
        archive.writestr("harbour/2023-11-14.json", json.dumps(messages))
        archive.writestr("harbour/2023-11-15.json", "[]")
    return path


def research(folder: Path) -> Path:
    (folder / "research").mkdir()
    (folder / "research" / "lamp.md").write_text(
        "# Lamp\n\nIt burns [1].\n\n[1] https://a.org/lamp"
    )
    return folder / "research"


def pages(folder: Path) -> Path:
    (folder / "pages").mkdir()
    (folder / "pages" / "lamp.md").write_text("URL: https://a.org/lamp\n\nThe lamp burns.")
    return folder / "pages"


def agent_memory(folder: Path) -> Path:
    (folder / "harbour" / ".kiro" / "steering").mkdir(parents=True)
    (folder / "harbour" / "CLAUDE.md").write_text("# Harbour\n\nThe lamp burns at night.\n")
    (folder / "harbour" / ".kiro" / "steering" / "pier.md").write_text("The pier is of oak.\n")
    return folder / "harbour"


def antigravity(folder: Path) -> Path:
    root = agent_sessions.antigravity(folder)
    (root / "brain" / "a1" / "walkthrough.md").write_text("# The lamp\n\nIt burns again.")
    return root


AGENTS = (
    "codex", "gemini", "cursor", "opencode", "copilot", "qwen", "pi", "openclaw", "crush", "goose",
    "zed", "cursor-editor", "kiro", "kiro-ide", "antigravity",
)  # fmt: skip
SAMPLES: Mapping[str, Callable[[Path], Path]] = {
    "claude-mem": claude_mem,
    "claude-code": claude_code,
    "git": git,
    "jsonl": jsonl,
    "mail": mail,
    "files": files,
    "research-archive": research,
    "url-archive": pages,
    "bookmarks": bookmarks,
    "chatgpt": chatgpt,
    "claude-ai": claude_ai,
    "slack": slack,
    **{name: getattr(agent_sessions, name.replace("-", "_")) for name in AGENTS},
    "antigravity": antigravity,
    **editor_sessions.MADE,
    **export_samples.MADE,
    "agent-memory": agent_memory,
    "mbox": mbox,  # of docs/extending.md
}


def file_of(source: str, folder: Path) -> Path:
    """A sample that is one file, for a source that reads files."""
    sample = SAMPLES[source](folder)
    if sample.is_file():
        return sample
    return max(sample.rglob("*.*"), key=lambda place: for_path(place) == source)
