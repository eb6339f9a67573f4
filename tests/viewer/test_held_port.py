"""Another user holds the worker's port while no worker runs, and leaves a script in the browser."""

# ruff: noqa: E501 - scripts of a page

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from homes import Home, quick
from local_server import Handler, running
from patience import PATIENCE, until

pytestmark = pytest.mark.worker

NOTE: Final = (
    '{"kind": "note", "source_id": "1", "title": "Harbour", "text": "The bridge opens."}\n'
)
SCRIPT: Final = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.mode === "navigate") {
    event.respondWith(new Response("<body>held", { headers: { "Content-Type": "text/html" } }));
  } else if (pathname === "/viewer/app.js") {
    event.respondWith(new Response("document.title = 'held'", { headers: { "Content-Type": "text/javascript" } }));
  }
});
"""
PAGE: Final = """<body><script>
navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready)
  .then(() => caches.open("held")).then((cache) => cache.add("/viewer/app.js"))
  .then(() => { document.body.innerText = "registered"; });
</script>"""
ATTACK: Final = """
const [origin, code, secret, told] = arguments;
const login = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) };
const withSecret = { headers: { "X-Mem-Search-Session": secret } };
const asked = [
  ["/api/search?query=bridge&format=json"], ["/api/stats"], ["/api/export"], ["/api/v1/tokens"], ["/stream"],
  ["/api/search?query=bridge", withSecret], ["/api/export", withSecret],
  ["/api/v1/search", { ...login, body: '{"query": "bridge"}' }], ["/api/viewer/sessions", login],
  ["/api/memory/save", { ...login, body: '{"text": "held"}' }],
  ["/v/note:1"], ["/documents/note:1"],
];
(async () => {
  const found = [];
  for (const base of ["", origin]) {
    for (const mode of ["cors", "no-cors"]) {
      for (const [path, options] of asked) {
        try {
          const reply = await fetch(base + path, { ...options, mode });
          found.push([base + path, reply.status, reply.ok ? await reply.text() : ""]);
        } catch (error) {
          found.push([base + path, 0, String(error)]);
        }
      }
    }
    const events = new EventSource(`${base}/stream`);
    found.push([`${base}/stream events`, 0, await new Promise((told) => {
      events.onopen = () => told("open");
      events.onerror = () => told("");
    })]);
    events.close();
  }
  const frame = document.createElement("iframe");
  frame.src = `${origin}/#/search?q=bridge`;
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  try {
    found.push(["frame", 0, frame.contentDocument.body.innerText]);
  } catch (error) {
    found.push(["frame", 0, String(error)]);
  }
  told(found);
})();
"""


class Squatter(Handler):
    """The other user's server; everything that it gives is to be kept."""

    def do_GET(self) -> None:
        is_script = self.path.endswith(".js")
        self.reply(
            (SCRIPT if is_script else PAGE).encode(),
            Content_Type="text/javascript" if is_script else "text/html",
            Cache_Control="public, max-age=31536000, immutable",
        )


@contextmanager
def holding(host: str, port: int) -> Iterator[None]:
    """The system keeps an address for a minute after its last connections (TIME_WAIT)."""

    def bound() -> ThreadingHTTPServer | None:
        with suppress(OSError):
            return ThreadingHTTPServer((host, port), Squatter)
        return None

    with running(until(bound)):
        yield


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = quick(tmp_path, MEM_SEARCH_PORT=str(port))
    yield home
    home.end()


def link(home: Home) -> tuple[str, str]:
    """Origin and code of a link of ``mem-search view``."""
    origin, _, code = str(home.call("POST", "/api/viewer/links")["url"]).partition("/#/login/")
    return origin, code


def shown(driver: Any) -> str:
    return str(driver.execute_script("return document.body?.innerText ?? ''"))


def log_in(driver: Any, origin: str, code: str) -> str:
    """The secret of the session that the link has begun."""
    driver.get(f"{origin}/#/login/{code}")
    kept = "return localStorage.getItem('mem-search-session')"
    return str(json.loads(until(lambda: driver.execute_script(kept)))["secret"])


def gained(found: list[list[Any]], at: str = "") -> list[list[Any]]:
    """Which answers of ``at`` gave a page something."""
    return [
        each for each in found
        if each[0].startswith(at) and (each[1] or each[2] == "open")
        and (each[1] < 400 or "Harbour" in each[2])
    ]  # fmt: skip


def test_what_a_neighbour_left_at_the_port_reaches_neither_data_nor_a_login(
    driver: Any, mem: Home
) -> None:
    port = int(mem.environ["MEM_SEARCH_PORT"])
    url = f"http://127.0.0.1:{port}"
    with holding("127.0.0.1", port):
        driver.get(f"{url}/")
        until(lambda: shown(driver) == "registered")
    mem.ok("import", "jsonl", "-", given=NOTE)
    assert mem.worker()["url"] == url
    driver.get(f"{url}/v/note:1")
    assert shown(driver) == "held"  # it is there, and runs
    origin, code = link(mem)
    driver.switch_to.new_window("tab")
    secret = log_in(driver, origin, code)
    driver.get(f"{origin}/#/search?q=bridge")
    until(lambda: "Harbour" in shown(driver))  # neither the script nor what is cached is asked here
    driver.switch_to.window(driver.window_handles[0])
    driver.set_script_timeout(PATIENCE)
    before = mem.call("GET", "/api/viewer/sessions")["sessions"]
    _, fresh = link(mem)
    found = driver.execute_async_script(ATTACK, origin, fresh, secret)
    assert len(found) > 40
    assert gained(found) == []
    after = mem.call("GET", "/api/viewer/sessions")["sessions"]
    assert [each["id"] for each in after] == [each["id"] for each in before]
    opened = driver.execute_async_script(
        "const tab = open(arguments[0] + '/#/search?q=bridge');"
        "setTimeout(() => { let text; try { text = tab.document.body.innerText } catch (error) {"
        " text = String(error) } arguments[1]([tab.closed, text]) }, 1000)",
        origin,
    )
    assert "Harbour" not in str(opened)


def test_the_secret_of_a_tab_is_worth_nothing_to_who_takes_its_address_after_the_worker(
    driver: Any, mem: Home
) -> None:
    mem.ok("import", "jsonl", "-", given=NOTE)
    origin, code = link(mem)
    secret = log_in(driver, origin, code)
    mem.ok("worker", "stop")
    host, _, port = origin.removeprefix("http://").partition(":")
    with holding(host, int(port)):
        driver.get(f"{origin}/theirs")
        assert secret in driver.execute_script("return JSON.stringify(localStorage)")
        mem.ok("worker", "start")
        later, code = link(mem)
        assert later != origin
        assert gained(driver.execute_async_script(ATTACK, later, code, secret), later) == []
    assert mem.call("GET", "/api/viewer/sessions")["sessions"] == []
