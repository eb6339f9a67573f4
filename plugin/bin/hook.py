#!/usr/bin/env python3
"""A hook of an agent: leave the event in mem-search's home and wake its worker.

Reads the hook's JSON from the standard input; ``--mem-search=codex`` says whose hook it is. The
event becomes one file, so it is not lost while the worker is away, and an event that comes twice
is taken once. Where the session's transcript lies on this machine, the file has no content: the
worker reads the transcript. Elsewhere the worker gets the content, and redacts it before it writes
the file; without a worker the hook writes the file itself, without the secrets that it knows.
Whatever goes wrong, the hook ends with status 0 within its time and says nothing. It uses the
standard library only. What it cost is a line of ``hooks/costs.jsonl``.

MEM_SEARCH_HOOKS=off turns it off; MEM_SEARCH_HOME, MEM_SEARCH_TOKEN and MEM_SEARCH_COMMAND are as
for mem-search.
"""

import _socket  # importing socket takes a seventh of the processor time of a hook
import json
import os
import sys
import time

STARTED = time.monotonic() - time.process_time()  # about when the interpreter began
MAX_EVENT_BYTES = 10 * 1024 * 1024  # bytes of an event
MAX_TEXT_CHARS = 64 * 1024  # characters of one text in it; its middle is left out
MAX_TEXTS_CHARS = 512 * 1024  # characters of all of them; what comes after is left out
MAX_LOG_BYTES = 256 * 1024
MAX_COSTS_BYTES = 1024 * 1024
STARTING_SECONDS = 15  # sessions that begin together start one worker
SECONDS = {"SessionStart": 1.5}
OTHERS_SECONDS = 0.25
CONTENT = {
    "SessionStart": (),
    "UserPromptSubmit": ("prompt",),
    "PostToolUse": ("tool_name", "tool_input", "tool_response"),
    "PostToolUseFailure": ("tool_name", "tool_input", "error"),
    "Stop": ("last_assistant_message",),
    "SubagentStop": ("last_assistant_message",),
    "PostCompact": ("compact_summary",),
    "SessionEnd": (),
}
HEARD = ("SessionStart", "UserPromptSubmit")  # the agent reads what they print
MAX_PROMPT_CHARS = 2000  # characters that the worker searches for
ALWAYS = ("hook_event_name", "session_id", "transcript_path", "cwd", "agent", "environ")
FOLDERS = (
    "CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CLINE_DIR", "CODEX_HOME",
    "CONTINUE_GLOBAL_DIR", "COPILOT_HOME", "FACTORY_HOME_OVERRIDE", "KIRO_HOME",
    "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "QWEN_HOME",
    "QWEN_RUNTIME_DIR", "VSCODE_PORTABLE", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
"""Where agents have their folders: a worker that runs may not know."""
MAX_FOLDER_CHARS = 4096
NAMES = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "stop": "Stop",
    "sessionEnd": "SessionEnd",
}
"""What other agents call an event."""
PREFIXES = (
    "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-",
    "hooks.slack.com/", "com/api/webhooks/", "sig=", "sk-", "AIza", "ya29.", "GOCSPX-", "sk_live_",
    "rk_live_", "sk_test_", "whsec_", "npm_", "pypi-", "hf_", "SG.", "dop_v1_", "dapi", "hvs.",
    "gsk_", "mst_", "tskey-", "sntrys_", "secret_", "gldt-", "glrt-", "sntryu_", "ntn_", "xai-",
    "pplx-", "nvapi-", "r8_", "figd_", "ATATT3", "lin_api_", "dckr_pat_", "PMAK-", "shp", "ops_eyJ",
    "SK", "glsa_", "AGE-SECRET-KEY-1", "eyJ", "LTAI", "ATBB", "AKID", "AQVN", "EAAA", "sq0",
    "sk.eyJ", "oauth:", "pbkdf2_sha", "fo1_", "vercel_blob_rw_", "office.com/webhook",
)  # fmt: skip
"""How tokens of services begin; a test compares them with those that the worker knows."""
SEARCHES = ("mem-search ", "/api/search", "/api/context", "/api/timeline")
MARK = "--mem-search="
OWN = "claude-code"


def main():
    if os.environ.get("MEM_SEARCH_HOOKS", "").lower() in ("off", "0", "false"):
        return
    home = home_of()
    if not home:
        return
    raw, is_whole = given()
    event, reason = understood(raw)
    if event is None and not is_whole:
        reason = f"its end did not come within {OTHERS_SECONDS} s"
    if event is None:
        drop(home, reason)
        return
    name = event["hook_event_name"]
    deadline = time.monotonic() + SECONDS.get(name, OTHERS_SECONDS)
    unique = f"{time.time_ns():020}-{os.urandom(4).hex()}"
    file, kept, has_content = to_leave(event, unique)
    if file and not has_content:
        leave(home, file, unique, kept)
    answer = wake(home, event, deadline, (unique, kept) if has_content else None)
    if has_content and not (answer and answer.get("kept")):
        leave(home, file, unique, cleaned(kept))
    if answer is None and name == "SessionStart" and not is_starting(home):
        start_worker()
    context = str((answer or {}).get("context") or "")
    if context and name in HEARD:
        sys.stdout.write(json.dumps(reply(event.get("agent"), name, context)))
        sys.stdout.flush()
    note_cost(home, event, answer)


def home_of():
    """The home of the store; empty for a user without a home directory who names none."""
    home = os.path.expanduser(os.environ.get("MEM_SEARCH_HOME") or "~/.mem-search")
    return "" if home.startswith("~") else home


def reply(agent, name, context):
    """The context in the form that the agent reads."""
    if agent == "cursor":
        return {"additional_context": context}
    if agent == "copilot":
        return {"additionalContext": context}
    if agent == "qwen":  # it stores the context with the prompt; so marked, it is left out again
        context = f"<hook_context>\n{context}\n</hook_context>"
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}


def given():
    """What stands on the standard input, and whether nothing more can come.

    An agent may keep its end open, so the reading ends with the event, or after a while in which
    nothing came.
    """
    import select  # a part of the interpreter

    raw = bytearray()
    while len(raw) <= MAX_EVENT_BYTES:
        try:
            if not select.select([0], [], [], 0)[0]:
                if is_json(raw):
                    return raw, True
                if not select.select([0], [], [], OTHERS_SECONDS)[0]:
                    return raw, False
        except OSError:  # on Windows only a socket can be asked
            return sys.stdin.buffer.read(MAX_EVENT_BYTES + 1), True
        part = os.read(0, 65536)
        if not part:
            return raw, True
        raw += part
    return raw, True


def is_json(raw):
    """Whether ``raw`` is a whole value; most parts of a longer one end otherwise."""
    if not raw[-9:].rstrip().endswith(b"}"):
        return False
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def understood(raw):
    """The event, or None and why it is dropped."""
    if len(raw) > MAX_EVENT_BYTES:
        return None, f"longer than {MAX_EVENT_BYTES} bytes"
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return None, "no JSON"
    if not isinstance(event, dict):
        return None, "no JSON object"
    agent = next((word[len(MARK) :] for word in sys.argv[1:] if word.startswith(MARK)), OWN)
    event.pop("agent", None)
    event.pop("environ", None)
    if environ := folders():
        event["environ"] = environ
    if agent != OWN:
        event = translated(event, agent)
    name = event.get("hook_event_name")
    if not isinstance(name, str) or name not in CONTENT:
        return None, f"unknown event {name!r:.60}"
    if not isinstance(event.get("session_id"), str) or not event["session_id"]:
        return None, "no session_id"
    return event, ""


def translated(event, agent):
    """The event of another agent, in the words of Claude Code's."""
    roots = event.get("workspace_roots")
    cwd = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    session = event.get("session_id") or event.get("conversation_id") or event.get("sessionId")
    name = event.get("hook_event_name")
    name = NAMES.get(name, name) if isinstance(name, str) else name
    same = {"hook_event_name": name, "session_id": session, "cwd": cwd, "agent": agent}
    return {**event, **same}


def folders():
    """Where the environment says that agents have their folders; what is no path is left out."""
    given = {name: os.environ.get(name, "") for name in FOLDERS}
    return {
        name: place
        for name, place in given.items()
        if 0 < len(place) <= MAX_FOLDER_CHARS and os.path.isabs(os.path.expanduser(place))
    }


def to_leave(event, unique):
    """The name of the event's file, "" for none; what is kept of it; whether that has content.

    It has none where there is a transcript. Other agents than Claude Code keep their sessions
    where the worker finds them.
    """
    name, transcript = event["hook_event_name"], event.get("transcript_path")
    known = "agent" in event or (isinstance(transcript, str) and os.path.isfile(transcript))
    if not known and name == "SessionStart":
        return "", {}, False  # there is nothing to read yet
    names = ALWAYS if known else ALWAYS + ("agent_id",) + CONTENT[name]
    kept = shortened({key: event[key] for key in names if key in event}, [MAX_TEXTS_CHARS])
    if not known:
        return unique, kept, True
    # One file a session is enough to say that its transcript grew.
    session = "".join(c for c in event["session_id"][:64] if c.isalnum() or c == "-") or "none"
    return f"{event.get('agent', 'session')}-{session}", kept, False


def shortened(value, room, depth=0):
    """``value`` with long texts cut in their middle: the end of an output has its error.

    ``room`` is a list with how many characters are left for all texts.
    """
    if isinstance(value, str):
        value = without_pictures(value)
        if len(value) > MAX_TEXT_CHARS:
            half = MAX_TEXT_CHARS // 2
            value = f"{value[:half]}\n[…]\n{value[-half:]}"
        room[0] -= len(value)
    elif isinstance(value, dict) and depth < 20:
        return {key: shortened(value[key], room, depth + 1) for key in value if has(room)}
    elif isinstance(value, list) and depth < 20:
        return [shortened(item, room, depth + 1) for item in value if has(room)]
    return value


def without_pictures(value):
    """``value`` without the data of pasted files, which would push out the words beside them."""
    if ";base64," not in value:
        return value
    import re

    uri = r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,([A-Za-z0-9+/_%\\-]{256,})={0,2}"
    return re.sub(uri, lambda found: f"[data {found[1]}, {len(found[2]) * 3 // 4000} kB]", value)


def has(room):
    room[0] -= 8  # an item costs something, however short it is
    return room[0] > 0


def cleaned(value):
    """``value`` without secrets of a known shape; the worker knows more when it takes the event."""
    import re

    known = re.compile(
        r"(?is)<private(?:\s[^<>]{0,200})?>.*?(?:</private\s*>|\Z)"
        r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)"
        r"|(?-i:(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, PREFIXES)) + r")"
        r"(?=[^\s]{0,99}[0-9])[A-Za-z0-9_./+=-]{10,500})"
        r"|(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,200}(?=@)"
    )
    assigned = re.compile(
        r"(?i)((?:passw|secret|token|api.?key|authorization|credential)[a-z_]{0,20}[\"']?\s{0,3}"
        r"[:=]\s{0,3}(?:bearer |basic )?[\"']?)((?=[^\s\"']{0,199}\d)[^\s\"']{6,500})"
    )

    def without(item, depth=0):
        if isinstance(item, str):
            return assigned.sub(r"\1[redacted:secret]", known.sub("[redacted:secret]", item))
        if isinstance(item, dict) and depth < 20:
            return {without(key): without(each, depth + 1) for key, each in item.items()}
        if isinstance(item, list) and depth < 20:
            return [without(each, depth + 1) for each in item]
        return item if isinstance(item, (int, float, type(None))) else "[redacted:nested]"

    return without(value)


def leave(home, name, unique, kept):
    """Write the event as a file."""
    folder = os.path.join(home, "hooks", "events")
    part = os.path.join(folder, unique + ".part")
    content = json.dumps(kept).encode()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            while content:
                content = content[os.write(handle, content) :]
        finally:
            os.close(handle)
        os.replace(part, os.path.join(folder, f"{name}.json"))
    except OSError as error:
        if os.path.exists(part):
            os.unlink(part)
        drop(home, f"cannot be left: {error.strerror}")


def wake(home, event, deadline, content):
    """The worker's answer, {} for a refusal; None if none answered in time.

    ``content`` is the id and the content of an event that it is to keep, or None.
    """
    try:
        with open(os.path.join(home, "worker.json"), encoding="utf-8") as file:
            state = json.load(file)
        host, _, port = state["url"].partition("://")[2].rstrip("/").rpartition(":")
        told = {"hook_event_name": event["hook_event_name"], "cwd": text_of(event, "cwd", 4096)}
        if event["hook_event_name"] in HEARD:
            told["session_id"] = text_of(event, "session_id", 1024)
        if event["hook_event_name"] == "UserPromptSubmit":
            told["prompt"] = text_of(event, "prompt", MAX_PROMPT_CHARS)
        if content:
            told["event_id"], told["event"] = content
        body = json.dumps(told).encode()
        family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
        connection = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            connection.settimeout(left(deadline))
            connection.connect((host.strip("[]"), int(port)))
            return ask(connection, state["key"], int(port), host, body, token(home), deadline)
        finally:
            connection.close()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def text_of(event, name, longest):
    return without_pictures(str(event.get(name) or ""))[:longest]


def ask(connection, key, port, host, body, secret, deadline):
    """Let the worker prove itself, then tell it; nothing is sent to any other program."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    challenge = os.urandom(16).hex()
    where = f"HTTP/1.1\r\nHost: {host}:{port}\r\n"
    head = f"HEAD /health {where}X-Mem-Search-Challenge: {challenge}\r\n\r\n"
    connection.sendall(head.encode())
    answer = received(connection, b"", deadline, head_only=True)[0]
    said = f"{challenge} {port}".encode()
    proof = blake2b(said, key=key.encode(), digest_size=32, person=b"mem-search").hexdigest()
    if not key or f"x-mem-search-proof: {proof}" not in answer.decode("latin-1").lower():
        raise ValueError("not the worker of this home")
    head = (
        f"POST /api/hooks {where}Content-Type: application/json\r\nConnection: close\r\n"
        f"{zone()}Authorization: Bearer {secret}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    status, content = received(connection, b"", deadline)
    if b" 200 " not in status.partition(b"\r\n")[0] + b" ":
        return {}  # it runs, and says why it does not want this in its log
    answer = json.loads(content)
    return answer if isinstance(answer, dict) else {}


def received(connection, data, deadline, head_only=False):
    """Head and body of a reply."""
    while b"\r\n\r\n" not in data:
        data += more(connection, deadline)
    head, _, content = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while not head_only and len(content) < min(length, MAX_EVENT_BYTES):
        content += more(connection, deadline)
    return head, content


def more(connection, deadline):
    connection.settimeout(left(deadline))
    data = connection.recv(65536)
    if not data:
        raise OSError("the worker closed the connection")
    return data


def left(deadline):
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise OSError("the worker takes too long")
    return seconds


def zone():
    """The header with the time zone that the environment of the agent sets, if it sets one."""
    name = os.environ.get("MEM_SEARCH_TIMEZONE", "")
    return f"X-Timezone: {name}\r\n" if name.isascii() and name.isprintable() and name else ""


def token(home):
    """As ``daemon/address.py`` finds it: the environment, ``config.toml``, the file ``token``."""
    return os.environ.get("MEM_SEARCH_TOKEN") or set_in_file(home) or text(home, "token").strip()


def set_in_file(home):
    config = text(home, "config.toml")
    if "token" not in config:
        return ""
    try:
        import tomllib  # Python 3.11
    except ImportError:
        return ""
    try:
        return str(tomllib.loads(config).get("token") or "")
    except tomllib.TOMLDecodeError:
        return ""


def text(home, name):
    place = os.path.join(home, name)
    if not os.path.isfile(place):
        return ""
    with open(place, encoding="utf-8-sig") as file:
        return file.read()


def is_starting(home):
    """Whether another session has just started a worker. If not, notes that this one does."""
    folder = os.path.join(home, "hooks")
    note = os.path.join(folder, "worker-started")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.exists(note) and 0 <= time.time() - os.path.getmtime(note) < STARTING_SECONDS:
            return True
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT, 0o600))
        os.utime(note)
    except OSError:
        return False  # a worker that is started twice ends by itself
    return False


def start_worker():
    """Start a worker in the background, if mem-search is installed; one that runs stays alone."""
    import shutil
    import subprocess

    here = os.path.dirname(os.path.abspath(__file__))
    for command in (
        os.environ.get("MEM_SEARCH_COMMAND"),
        shutil.which("mem-search"),
        os.path.join(here, "..", "..", ".venv", "bin", "mem-search"),
        os.path.join(os.path.dirname(sys.executable), "mem-search"),
        os.path.expanduser("~/.local/bin/mem-search"),
    ):
        if command and os.access(command, os.X_OK):
            subprocess.Popen(
                [command, "worker", "start"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            return


def note_cost(home, event, answer):
    """One line with what this hook cost, and whether the agent has just searched its memory."""
    cost = {
        "at": int(time.time() * 1000),
        "session": event["session_id"][:200],
        "agent": event.get("agent", OWN),
        "event": event["hook_event_name"],
        "tokens": (answer or {}).get("tokens") or 0,
        "ms": round((time.monotonic() - STARTED) * 1000, 1),
        "cpu_ms": round(time.process_time() * 1000, 1),
        "searched": searched(event),
        "answered": answer is not None,
    }
    append(home, "costs.jsonl", json.dumps(cost), MAX_COSTS_BYTES)


def searched(event):
    """Whether the event is a search of mem-search: by its tools, its skill or its routes."""
    tool, given = event.get("tool_name"), event.get("tool_input")
    if event["hook_event_name"] != "PostToolUse" or not isinstance(tool, str):
        return False
    if tool.startswith("mcp__"):
        return "mem-search" in tool or "mem_search" in tool
    command = given.get("command") if isinstance(given, dict) else None
    return isinstance(command, str) and any(word in command for word in SEARCHES)


def drop(home, reason):
    """One line a dropped event in HOME/hooks/dropped.log: their number is the number of lines."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if home:
        append(home, "dropped.log", f"{at} {reason}", MAX_LOG_BYTES)


def append(home, name, line, longest):
    """Add a line to a file of HOME/hooks; one that is too long becomes ``name``.1."""
    try:
        folder = os.path.join(home, "hooks")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        file = os.path.join(folder, name)
        if os.path.exists(file) and os.path.getsize(file) > longest:
            os.replace(file, file + ".1")
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{line}\n".encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except OSError:
        return


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # noqa: BLE001 - the agent's work never waits for its memory
        drop(home_of(), repr(error))
    os._exit(0)  # not sys.exit: that reports an agent that no longer listens as status 120
