"""One session in the files of each agent, as its own program writes them.

The person asks for a lamp; a command fails with exit code 3, a file is written, and
the agent says that it is done. The forms are those of pi 0.74.2, Qwen Code 0.15.10, Copilot CLI
1.0.102, OpenCode 1.18.33, Codex CLI 0.169.0 and Gemini CLI 0.61.0; those of Cursor and OpenClaw
are what others describe.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

CWD = "/gone/harbour"
ASKED = "Light the lamp, please"
SAID = "The lamp burns again now."
RUN = {"command": "cat lamp.log; exit 3"}
ERROR = "cat: lamp.log: No such file or directory"
LAMP = f"{CWD}/lamp.py"


def _stamp(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000Z"


def _written(path: Path, lines: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def pi_lines(session: str) -> list[dict[str, Any]]:
    def text(words: str) -> dict[str, str]:
        return {"type": "text", "text": words}

    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"type": "toolCall", "id": key, "name": name, "arguments": arguments}

    def answer(key: str, words: str, *, wrong: bool = False) -> dict[str, Any]:
        given = {"role": "toolResult", "toolCallId": key, "content": [text(words)]}
        return {**given, "isError": wrong}

    messages = [
        {"role": "user", "content": [text(ASKED)]},
        {"role": "assistant", "content": [text("I look first."), call("1", "bash", **RUN)]},
        answer("1", f"{ERROR}\n\n\nCommand exited with code 3", wrong=True),
        {"role": "assistant", "content": [call("2", "write", path=LAMP, content="LAMP = 1")]},
        answer("2", "Successfully wrote 8 bytes"),
        {"role": "assistant", "content": [text(SAID)]},
    ]
    header = {"type": "session", "version": 3, "id": session, "timestamp": _stamp(0), "cwd": CWD}
    return [header] + [
        {"type": "message", "id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": _stamp(n),
         "message": message}
        for n, message in enumerate(messages, 1)
    ]  # fmt: skip


def pi(folder: Path) -> Path:
    name = "2026-01-01T00-00-00-000Z_p1.jsonl"
    _written(folder / "sessions" / "--gone-harbour--" / name, pi_lines("p1"))
    return folder / "sessions"


def openclaw(folder: Path) -> Path:
    _written(folder / "agents" / "main" / "sessions" / "o1.jsonl", pi_lines("o1"))
    return folder / "agents"


def qwen(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"functionCall": {"id": key, "name": name, "args": arguments}}

    def answer(key: str, output: str, shown: str) -> dict[str, Any]:
        part = {"functionResponse": {"id": key, "name": "x", "response": {"output": output}}}
        result = {"callId": key, "status": "success", "resultDisplay": shown}
        return {"type": "tool_result", "message": {"parts": [part]}, "toolCallResult": result}

    output = f"Command: cat\nDirectory: (root)\nOutput: {ERROR}\nError: (none)\nExit Code: 3"
    said: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "parts": [{"text": ASKED}]}},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"response_text": "no"}},
        {"type": "assistant", "message": {"parts": [
            {"text": "It is dark, I think", "thought": True}, {"text": "I look first."},
            call("1", "run_shell_command", **RUN)]}},
        answer("1", output, ERROR),
        {"type": "assistant", "message": {"parts": [
            call("2", "write_file", file_path=LAMP, content="LAMP = 1")]}},
        answer("2", "Successfully created", "diff"),
        {"type": "user", "subtype": "cron", "message": {"parts": [{"text": "Wake up"}]}},
        {"type": "assistant", "message": {"parts": [{"text": SAID}]}},
    ]  # fmt: skip
    lines = [
        {"uuid": f"q{n}", "sessionId": "q", "timestamp": _stamp(n), "cwd": CWD, **line}
        for n, line in enumerate(said, 1)
    ]
    _written(folder / "projects" / "-gone-harbour" / "chats" / "q.jsonl", lines)
    return folder / "projects"


def copilot(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> tuple[str, dict[str, Any]]:
        given = {"toolCallId": key, "toolName": name, "arguments": arguments}
        return "tool.execution_start", given

    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"sessionId": "g", "context": {"cwd": CWD, "branch": "main"}}),
        ("user.message", {"content": ASKED, "transformedContent": f"<now></now>{ASKED}"}),
        ("system.message", {"role": "system", "content": "You are the GitHub Copilot CLI"}),
        ("assistant.message", {"content": "I look first.", "toolRequests": []}),
        call("1", "bash", **RUN),
        ("tool.execution_complete", {"toolCallId": "1", "success": True,
         "shellExecution": {"exitCode": 3}, "result": {"content": ERROR}}),
        call("2", "apply_patch", input="*** Begin Patch"),
        ("tool.execution_complete", {"toolCallId": "2", "success": True,
         "fileEdits": [{"path": LAMP, "kind": "create"}], "result": {"content": "Created"}}),
        ("user.message", {"content": "skill", "source": "skill-x"}),
        ("assistant.message", {"content": SAID, "toolRequests": []}),
    ]  # fmt: skip
    lines = [
        {"type": sort, "data": data, "id": f"c{n}", "timestamp": _stamp(n)}
        for n, (sort, data) in enumerate(events, 1)
    ]
    _written(folder / "session-state" / "g" / "events.jsonl", lines)
    return folder / "session-state"


def opencode(folder: Path) -> Path:
    def tool(name: str, status: str, **state: Any) -> dict[str, Any]:
        return {"type": "tool", "tool": name, "callID": name, "state": {"status": status, **state}}

    parts: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "text": ASKED},
                  {"type": "text", "text": "<file>", "synthetic": True}]),
        ("assistant", [
            {"type": "text", "text": "I look first."},
            tool("bash", "completed", input=RUN, output=ERROR, metadata={"exit": 3}),
            tool("apply_patch", "completed", output="Done",
                 input={"patchText": f"*** Begin Patch\n*** Add File: {LAMP}\n+LAMP = 1"}),
            {"type": "reasoning", "text": "It is dark"},
            {"type": "text", "text": SAID}]),
    ]  # fmt: skip
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table session(id text primary key, parent_id text, directory text, title text,
                                 time_created integer);
            create table message(id text primary key, session_id text, time_created integer,
                                 data text);
            create table part(id text primary key, message_id text, session_id text,
                              time_updated integer, data text);
            insert into session values('ses_1', null, '/gone/harbour', 'New session - 2026', 1);
            """
        )
        for n, (role, its) in enumerate(parts, 1):
            message = json.dumps({"role": role})
            store.execute("insert into message values(?, 'ses_1', ?, ?)", (f"m{n}", n, message))
            for m, part in enumerate(its):
                row = (f"p{n}{m}", f"m{n}", n, json.dumps(part))
                store.execute("insert into part values(?, ?, 'ses_1', ?, ?)", row)
    return path


def cursor(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"type": "tool-call", "toolCallId": key, "toolName": name, "args": arguments}

    def answer(key: str, name: str, result: str) -> dict[str, Any]:
        part = {"type": "tool-result", "toolCallId": key, "toolName": name, "result": result}
        return {"role": "tool", "content": [part]}

    blobs: list[object] = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": "<user_info>OS: linux</user_info>"},
        b"\x0a\x20\xff\x00",
        {"role": "user", "content": [
            {"type": "text", "text": f"<user_query>\n{ASKED}\n</user_query>"}]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "It is dark"}, {"type": "text", "text": "I look first."},
            call("1", "Shell", **RUN)]},
        answer("1", "Shell", f"Exit code: 3\n\n{ERROR}"),
        {"role": "assistant", "content": [call("2", "Write", path=LAMP, contents="LAMP = 1")]},
        answer("2", "Write", "Wrote contents to lamp.py"),
        {"role": "assistant", "content": [{"type": "text", "text": SAID}]},
    ]  # fmt: skip
    path = folder / "chats" / "0cc175b9c0f1b6a831c399e269772661" / "u1" / "store.db"
    path.parent.mkdir(parents=True)
    meta = {"agentId": "u1", "name": "", "createdAt": 1767225600000, "workspacePath": CWD}
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            "create table blobs(id text primary key, data blob);"
            "create table meta(key text primary key, value text);"
        )
        store.execute("insert into meta values('0', ?)", (json.dumps(meta).encode().hex(),))
        for n, blob in enumerate(blobs):
            data = blob if isinstance(blob, bytes) else json.dumps(blob).encode()
            store.execute("insert into blobs values(?, ?)", (f"b{n}", data))
    return folder / "chats"


def cursor_transcript(folder: Path) -> Path:
    """What CLI and editor write beside the database: no times, no answers of tools."""

    def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(parts)}}

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    def call(name: str, **given: str) -> dict[str, Any]:
        return {"type": "tool_use", "name": name, "input": given}

    sent = "<timestamp>Thursday, Jan 1, 2026, 2:00 AM (UTC+2)</timestamp>"
    lines = [
        said("user", text(f"{sent}\n<user_query>\n{ASKED}\n</user_query>")),
        said("assistant", text("I look first.\n\n[REDACTED]"),
             call("Shell", **RUN, working_directory=CWD)),
        said("assistant", text("[REDACTED]"), call("Write", path=LAMP, contents="LAMP = 1")),
        said("assistant", text(SAID)),
        {"type": "turn_ended", "status": "success"},
    ]  # fmt: skip
    place = folder / "projects" / "gone-harbour" / "agent-transcripts"
    _written(place / "u2" / "u2.jsonl", lines)
    return folder / "projects"


def codex_lines(*turns: str) -> list[dict[str, Any]]:
    """One work after each of the prompts."""

    def said(role: str, words: str) -> tuple[str, dict[str, Any]]:
        content = [{"type": "input_text", "text": words}]
        return "response_item", {"type": "message", "role": role, "content": content}

    def call(key: str, command: str) -> tuple[str, dict[str, Any]]:
        arguments = json.dumps({"cmd": command})
        given = {"name": "exec_command", "arguments": arguments, "call_id": key}
        return "response_item", {"type": "function_call", **given}

    def answer(key: str, output: str) -> tuple[str, dict[str, Any]]:
        given = {"type": "function_call_output", "call_id": key, "output": output}
        return "response_item", given

    def head(*lines: str) -> str:
        return "\n".join(("Chunk ID: 9a19f5", "Wall time: 0.0000 seconds", *lines, "Output:", ""))

    patch = (
        f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {LAMP}\n+LAMP = 1\n*** End Patch\nEOF"
    )
    done = "Success. Updated the following files:\nA lamp.py\n"
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "x1", "session_id": "x1", "cwd": CWD, "source": "exec",
                          "base_instructions": {"text": "You are a coding agent"}}),
        ("world_state", {"full": True, "state": {}}),
        said("developer", "<skills_instructions>dark</skills_instructions>"),
        said("user", "<environment_context>\n<cwd>/gone/harbour</cwd>\n</environment_context>"),
        ("turn_context", {"cwd": CWD, "model": "stub"}),
    ]  # fmt: skip
    for asked in turns:
        payloads += [
            said("user", asked),
            ("event_msg", {"type": "user_message", "message": asked}),
            ("response_item", {"type": "reasoning", "summary": [], "content": "It is dark"}),
            said("assistant", "I look first."),
            call("1", RUN["command"]),
            answer("1", head("Process exited with code 3") + f"{ERROR}\n"),
            call("2", patch),
            answer("2", head() + f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{done}"),
            said("assistant", SAID),
        ]
    return [
        {"timestamp": _stamp(n), "ordinal": n, "type": sort, "payload": payload}
        for n, (sort, payload) in enumerate(payloads)
    ]


def codex(folder: Path) -> Path:
    name = "rollout-2026-01-01T00-00-00-x1.jsonl"
    _written(folder / "sessions" / "2026" / "01" / "01" / name, codex_lines(ASKED))
    return folder / "sessions"


def gemini(folder: Path) -> Path:
    def call(key: str, name: str, output: str, **arguments: str) -> dict[str, Any]:
        response = {"functionResponse": {"id": key, "name": name, "response": {"output": output}}}
        done = {"result": [response], "status": "success"}
        return {"id": key, "name": name, "args": arguments, **done}

    run = call("1", "run_shell_command", f"Output: {ERROR}\nExit Code: 3\nPGID: 7", **RUN)
    run["resultDisplay"] = ERROR
    write = call("2", "write_file", "Successfully created", file_path=LAMP, content="LAMP = 1")
    thoughts = [{"subject": "It is dark", "description": "I think"}]
    said = {"type": "gemini", "thoughts": thoughts, "content": "I look first."}
    context = [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}]
    first = {"id": "c", "timestamp": _stamp(0), "type": "user", "content": context}
    lines = [
        {"sessionId": "g1", "projectHash": "h", "kind": "main", "directories": [CWD]},
        {"$set": {"messages": [first]}},
        {"id": "a", "type": "user", "content": "Forget this"},
        {"$rewindTo": "a"},
        {"id": "b", "type": "user", "content": [{"text": ASKED}]},
        {"id": "d", **said},
        {"id": "d", **said, "toolCalls": [run, write]},
        {"id": "e", "type": "user", "content": [*run["result"], *write["result"]]},
        {"id": "f", "type": "gemini", "content": SAID},
        {"$set": {"lastUpdated": _stamp(9)}},
    ]
    stamped = [{**line, "timestamp": _stamp(n)} if "id" in line else line
               for n, line in enumerate(lines)]  # fmt: skip
    _written(folder / "tmp" / "harbour" / "chats" / "session-2026-01-01T00-00-g1.jsonl", stamped)
    return folder / "tmp"


def crush(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        data = {"id": key, "name": name, "input": json.dumps(arguments), "finished": True}
        return {"type": "tool_call", "data": data}

    def answer(key: str, name: str, content: str) -> dict[str, Any]:
        data = {"tool_call_id": key, "name": name, "content": content, "is_error": False}
        return {"type": "tool_result", "data": data}

    def text(said: str) -> dict[str, Any]:
        return {"type": "text", "data": {"text": said}}

    messages: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [text(ASKED), {"type": "finish", "data": {"reason": "stop"}}]),
        ("assistant", [{"type": "reasoning", "data": {"thinking": "It is dark"}},
                       text("I look first."), call("1", "bash", **RUN)]),
        ("tool", [answer("1", "bash", f"\n{ERROR}\nExit code 3\n\n<cwd>/gone/harbour</cwd>")]),
        ("assistant", [call("2", "write", file_path=LAMP, content="LAMP = 1")]),
        ("tool", [answer("2", "write", "<result>File successfully written</result>")]),
        ("assistant", [text(SAID), {"type": "finish", "data": {"reason": "end_turn"}}]),
    ]  # fmt: skip
    root = folder / "crush"
    path = root / "kept" / "crush.db"
    path.parent.mkdir(parents=True)
    projects = [{"path": CWD, "data_dir": str(path.parent)}]
    (root / "projects.json").write_text(json.dumps({"projects": projects}))
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table sessions(id text primary key, parent_session_id text, title text not null,
                message_count integer, updated_at integer not null, created_at integer not null);
            create table messages(id text primary key, session_id text not null, role text not null,
                parts text not null default '[]', model text, created_at integer not null,
                updated_at integer not null, finished_at integer, provider text,
                is_summary_message integer default 0 not null);
            create table goose_db_version(id integer primary key, version_id integer not null);
            insert into goose_db_version values(1, 20260127000000);
            insert into sessions values('r1', null, 'Untitled Session', 6, 9, 1);
            """
        )
        for n, (role, parts) in enumerate(messages, 1):
            row = (f"m{n}", role, json.dumps(parts), 1767225600 + n, 1767225600 + n)
            store.execute(
                "insert into messages(id, session_id, role, parts, created_at, updated_at)"
                " values(?, 'r1', ?, ?, ?, ?)", row
            )  # fmt: skip
    return root


def goose_messages() -> list[dict[str, Any]]:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        value = {"name": name, "arguments": arguments}
        return {"type": "toolRequest", "id": key, "toolCall": {"status": "success", "value": value}}

    def answer(key: str, said: str, **more: Any) -> dict[str, Any]:
        value = {"content": [{"type": "text", "text": said}], "isError": False, **more}
        result = {"status": "success", "value": value}
        return {"type": "toolResponse", "id": key, "toolResult": result}

    def text(said: str) -> dict[str, str]:
        return {"type": "text", "text": said}

    said: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [text(ASKED)]),
        ("assistant", [{"type": "thinking", "thinking": "It is dark", "signature": ""},
                       text("I look first."), call("1", "developer__shell", **RUN)]),
        ("user", [answer("1", ERROR, isError=True, structuredContent={"exit_code": 3})]),
        ("assistant", [call("2", "developer__text_editor", command="write", path=LAMP,
                            file_text="LAMP = 1")]),
        ("user", [answer("2", "Successfully wrote to lamp.py")]),
        ("assistant", [text(SAID)]),
    ]  # fmt: skip
    shown = {"userVisible": True, "agentVisible": True}
    return [
        {"role": role, "created": 1767225600 + n, "content": content, "metadata": shown}
        for n, (role, content) in enumerate(said, 1)
    ]


def goose(folder: Path) -> Path:
    path = folder / "goose" / "sessions" / "sessions.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table schema_version(version integer primary key, applied_at timestamp);
            insert into schema_version values(5, '2026-01-01 00:00:00');
            create table sessions(id text primary key, name text not null default '',
                description text not null default '', user_set_name boolean default false,
                session_type text not null default 'user', working_dir text not null,
                created_at timestamp default current_timestamp,
                updated_at timestamp default '2026-01-01 00:00:09');
            create table messages(id integer primary key autoincrement, session_id text not null,
                role text not null, content_json text not null, created_timestamp integer not null,
                timestamp timestamp default current_timestamp, tokens integer, metadata_json text);
            insert into sessions(id, working_dir) values('20260101_1', '/gone/harbour');
            """
        )
        for message in goose_messages():
            row = (message["role"], json.dumps(message["content"]), message["created"],
                   json.dumps(message["metadata"]))  # fmt: skip
            store.execute(
                "insert into messages(session_id, role, content_json, created_timestamp,"
                " metadata_json) values('20260101_1', ?, ?, ?, ?)", row
            )  # fmt: skip
    return path.parent


def zed_thread() -> dict[str, Any]:
    def use(key: str, name: str, **given: str) -> dict[str, Any]:
        return {"ToolUse": {"id": key, "name": name, "input": given, "raw_input": "",
                            "is_input_complete": True}}  # fmt: skip

    def result(key: str, name: str, said: str) -> dict[str, Any]:
        content = {"tool_use_id": key, "tool_name": name, "is_error": False}
        return {key: {**content, "content": {"Text": said}, "output": None}}

    ran = f'Command "cat lamp.log" failed with exit code 3.\n\n```\n{ERROR}\n```'
    messages: list[Any] = [
        {"User": {"id": "v1", "content": [{"Text": ASKED}]}},
        {"Agent": {"content": [{"Thinking": {"text": "It is dark", "signature": None}},
                               {"Text": "I look first."},
                               use("1", "terminal", cd="harbour", **RUN)],
                   "tool_results": result("1", "terminal", ran)}},
        {"Agent": {"content": [use("2", "edit_file", path="harbour/lamp.py", mode="create")],
                   "tool_results": result("2", "edit_file", "Edited harbour/lamp.py")}},
        "Resume",
        {"Agent": {"content": [{"Text": SAID}], "tool_results": {}}},
    ]  # fmt: skip
    return {"title": "", "messages": messages, "updated_at": _stamp(9), "version": "0.3.0"}


def zed(folder: Path) -> Path:
    path = folder / "threads" / "threads.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(
            "create table threads(id text primary key, summary text not null,"
            " updated_at text not null, data_type text not null, data blob not null,"
            " parent_id text, folder_paths text, folder_paths_order text, created_at text)"
        )
        row = (_stamp(9), json.dumps(zed_thread()), CWD, _stamp(1))
        store.execute(
            "insert into threads values('z1', '', ?, 'json', ?, null, ?, '0', ?)", row
        )  # fmt: skip
    return path


def cursor_editor(folder: Path) -> Path:
    def bubble(key: str, sort: int, text: str = "", **more: Any) -> dict[str, Any]:
        return {"_v": 3, "bubbleId": key, "type": sort, "text": text,
                "createdAt": _stamp(int(key[1:])), **more}  # fmt: skip

    def tool(name: str, params: dict[str, str], result: Any) -> dict[str, Any]:
        given = {"params": json.dumps(params), "rawArgs": "", "result": json.dumps(result)}
        return {"name": name, "toolCallId": f"call_{name}", "status": "completed", **given}

    run = tool("run_terminal_command_v2", RUN, {"output": ERROR, "exitCodeV2": 3})
    write = tool("write", {"relativeWorkspacePath": LAMP}, {"diff": {"chunks": []}})
    bubbles = [
        bubble("b1", 1, ASKED, workspaceUris=["file:///gone/harbour"]),
        bubble("b2", 2, thinking={"text": "It is dark"}),
        bubble("b3", 2, "I look first."),
        bubble("b4", 2, toolFormerData=run),
        bubble("b5", 2, toolFormerData=write),
        bubble("b6", 2, SAID),
    ]
    headers = [{"bubbleId": each["bubbleId"], "type": each["type"]} for each in bubbles]
    chat = {"_v": 10, "composerId": "e1", "createdAt": 1767225600000, "name": "",
            "fullConversationHeadersOnly": headers}  # fmt: skip
    path = folder / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store, store:
        for table in ("ItemTable", "cursorDiskKV"):
            store.execute(f"create table {table}(key text unique on conflict replace, value blob)")
        values = {"composerData:e1": chat} | {f"bubbleId:e1:{b['bubbleId']}": b for b in bubbles}
        for key, value in values.items():
            store.execute("insert into cursorDiskKV values(?, ?)", (key, json.dumps(value)))
    return path


def kiro_history() -> list[dict[str, Any]]:
    def turn(n: int, asked: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
        meta = {"message_id": f"k{n}", "request_start_timestamp_ms": 1767225600000 + n,
                "stream_end_timestamp_ms": 1767225600900 + n}  # fmt: skip
        user = {"additional_context": "", "env_context": {}, "content": asked,
                "timestamp": None, "images": None}  # fmt: skip
        return {"user": user, "assistant": said, "request_metadata": meta}

    def use(key: str, name: str, **args: str) -> dict[str, Any]:
        return {"id": key, "name": name, "orig_name": name, "args": args, "orig_args": args}

    def results(key: str, block: dict[str, Any], status: str = "Success") -> dict[str, Any]:
        result = {"tool_use_id": key, "content": [block], "status": status}
        return {"ToolUseResults": {"tool_use_results": [result]}}

    ran = {"Json": {"exit_status": "3", "stdout": "", "stderr": ERROR}}
    uses = [use("1", "execute_bash", **RUN)]
    wrote = [use("2", "fs_write", command="create", path=LAMP, file_text="LAMP = 1")]
    return [
        turn(1, {"Prompt": {"prompt": ASKED}},
             {"ToolUse": {"message_id": "k1", "content": "I look first.", "tool_uses": uses}}),
        turn(2, results("1", ran),
             {"ToolUse": {"message_id": "k2", "content": "", "tool_uses": wrote}}),
        turn(3, results("2", {"Text": ""}),
             {"Response": {"message_id": "k3", "content": SAID}}),
    ]  # fmt: skip


def kiro(folder: Path) -> Path:
    path = folder / "kiro-cli" / "data.sqlite3"
    path.parent.mkdir(parents=True)
    value = {"conversation_id": "k", "history": kiro_history(), "transcript": []}
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table conversations(key text primary key, value text);
            create table conversations_v2(key text not null, conversation_id text not null,
                value text not null, created_at integer not null, updated_at integer not null,
                primary key(key, conversation_id));
            """
        )
        row = (CWD, json.dumps(value))
        store.execute("insert into conversations_v2 values(?, 'k', ?, 1, 9)", row)
    return path


def kiro_ide(folder: Path) -> Path:
    root = folder / "Kiro" / "User" / "globalStorage" / "kiro.kiroagent"
    encoded = base64.urlsafe_b64encode(CWD.encode()).decode().replace("=", "_")
    history = [
        {"message": {"role": "user", "id": "u1", "content": [{"type": "text", "text": ASKED}]}},
        {"message": {"role": "assistant", "id": "u2", "content": "On it."},
         "executionId": "exec-1"},
    ]  # fmt: skip
    session = {"sessionId": "i1", "title": "", "history": history}
    path = root / "workspace-sessions" / encoded / "i1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(session))
    (path.parent / "sessions.json").write_text('[{"sessionId": "i1"}]')

    def action(n: int, kind: str, given: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        return {"type": "AgentExecutionAction", "actionId": str(n), "actionType": kind,
                "actionState": "Success", "emittedAt": 1767225600000 + n,
                "input": given, "output": output}  # fmt: skip

    actions = [
        action(1, "reasoning", {}, {"message": "It is dark"}),
        action(2, "say", {}, {"message": "I look first."}),
        action(3, "runCommand", {**RUN, "cwd": CWD}, {"output": ERROR, "exitCode": 3}),
        action(4, "create", {"file": LAMP, "modifiedContent": "LAMP = 1"}, {}),
        action(5, "say", {}, {"message": SAID}),
    ]
    done = root / hashlib.sha256(CWD.encode()).hexdigest()[:32] / "0cc1" / "9e10"
    done.parent.mkdir(parents=True)
    done.write_text(json.dumps({"executionId": "exec-1", "actions": actions}))
    return root


def antigravity_steps() -> list[dict[str, Any]]:
    def step(n: int, source: str, sort: str, content: str, **more: Any) -> dict[str, Any]:
        return {"step_index": n, "source": source, "type": sort, "status": "DONE",
                "created_at": _stamp(n), "content": content, **more}  # fmt: skip

    def call(name: str, **args: str) -> dict[str, Any]:
        return {"name": name, "args": {key: json.dumps(value) for key, value in args.items()}}

    asked = (
        f"<USER_REQUEST>\n{ASKED}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>x</ADDITIONAL_METADATA>"
    )
    times = f"Created At: {_stamp(3)}\nCompleted At: {_stamp(3)}\n\n"
    run = call("run_command", CommandLine=RUN["command"], Cwd=CWD)
    return [
        step(0, "SYSTEM_SDK", "USER_INPUT", "<USER_REQUEST>dark</USER_REQUEST>"),
        step(1, "USER_EXPLICIT", "USER_INPUT", asked),
        step(2, "MODEL", "PLANNER_RESPONSE", "I look first.", thinking="dark", tool_calls=[run]),
        step(3, "MODEL", "RUN_COMMAND", f"{times}The command failed with exit code: 3\n{ERROR}"),
        step(4, "MODEL", "PLANNER_RESPONSE", "",
             tool_calls=[call("write_to_file", TargetFile=LAMP, CodeContent="LAMP = 1")]),
        step(5, "MODEL", "CODE_ACTION", f"{times}Created file"),
        step(6, "MODEL", "PLANNER_RESPONSE", SAID),
    ]  # fmt: skip


def antigravity(folder: Path) -> Path:
    root = folder / "antigravity"
    logs = root / "brain" / "a1" / ".system_generated" / "logs"
    _written(logs / "transcript.jsonl", antigravity_steps())
    return root
