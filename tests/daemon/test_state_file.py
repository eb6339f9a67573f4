"""``worker.json`` of a worker that starts: written once, and who reads it then waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from homes import Home
from patience import until

pytestmark = pytest.mark.worker


def test_the_state_file_appears_once_with_the_port(mem: Home) -> None:
    file, seen, over = mem.path / "worker.json", set(), threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                with file.open() as opened:
                    seen.add((os.fstat(opened.fileno()).st_ino, opened.read()))
            except OSError:
                continue

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        mem.ok("worker", "start")
        until(lambda: seen)
    finally:
        over.set()
        thread.join()
    ((_, text),) = seen
    assert json.loads(text) == mem.worker()
    assert json.loads(text)["port"] > 0
    assert all(json.loads(text)[name] for name in ("url", "key", "instance_id", "process"))


LATE = """
import os, socket, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from mem_search import __version__
from mem_search.access.proof import CHALLENGE, PROOF, proof
from mem_search.daemon.state import worker_lock
from mem_search.daemon.state import WorkerState, write_state
from mem_search.platform.processes import process_start

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        self.send_response(200)
        port = self.server.server_address[1]
        self.send_header(PROOF, proof("k" * 64, self.headers[CHALLENGE] or "", port))
        self.end_headers()
    def do_GET(self):
        if self.path == "/api/health":
            text = b'{"service": "mem-search", "status": "ok", "pid": %d}' % os.getpid()
        else:
            text = b"Found 1 result(s)"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        text = b'{"jsonrpc": "2.0", "id": 1, "result": {"late": true}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *args):
        pass

home = Path(sys.argv[1])
with worker_lock(home), HTTPServer(("127.0.0.1", 0), Handler) as server:
    began, port = process_start(os.getpid()), server.server_address[1]
    url = f"http://127.0.0.1:{port}"
    write_state(home / "worker.json", WorkerState(
        os.getpid(), port, url, __version__, "", str(home), "", began, "k" * 64))
    print("listens", flush=True)
    first, _ = server.socket.accept()  # and it goes on with its imports
    first.recv(4096)
    first.setblocking(False)
    while True:  # until the client gives up this connection
        try:
            if not first.recv(4096):
                break
        except BlockingIOError:
            pass
    server.serve_forever()
"""


@pytest.mark.parametrize("argv", [("unified", "auth"), ("unified", "auth", "--no-start"), ("mcp",)])
def test_a_worker_that_listens_and_still_imports_is_waited_for(
    mem: Home, argv: tuple[str, ...]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LATE, str(mem.path)],
        env=mem.environ, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listens\n"
            line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            said = mem.ok(*argv, given=line + "\n")
        finally:
            process.kill()
    assert "Found 1 result(s)" in said or '"late"' in said
