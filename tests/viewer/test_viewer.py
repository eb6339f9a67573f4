"""The viewer in a real browser: every page, the main tasks, and nothing in its console.

Skipped where no browser is. axe-core (``vendor``) looks for what a person with a screen reader or
without a mouse cannot use.
"""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest
from http_worker import AUTHORIZED
from threaded_worker import serving

from mem_search.contracts import Vectors
from mem_search.embedders.hashing import HashingEmbedder
from patience import PATIENCE, until

AXE: Final = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
PAGES: Final = (
    "search", "search?q=auth", "calendar?year=2025", "projects", "jobs", "saved", "research",
    "usage", "settings",
)  # fmt: skip
EVIL: Final = '<img src=x onerror="document.title=1"><script>document.title=1</script>{{7*7}}\u202e'


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("viewer")) as found:
        hostile = {"kind": "note", "title": f"Hostile {EVIL}", "text": EVIL, "tags": [EVIL],
                   "project": EVIL, "url": "javascript:document.title=1"}  # fmt: skip
        ask(found, "POST", "/api/records", hostile)
        yield found


def ask(address: str, method: str, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        f"{address}{path}", None if body is None else json.dumps(body).encode(), method=method,
        headers={**AUTHORIZED, "Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read() or b"null")


def ask_text(address: str, path: str) -> str:
    request = urllib.request.Request(f"{address}{path}", headers=AUTHORIZED)
    with urllib.request.urlopen(request) as reply:
        return str(reply.read().decode())


_PRESS: Final = """
const found = [...document.querySelectorAll("button")].find((each) => each.textContent.trim().startsWith(arguments[0]));
found?.click();
return Boolean(found);
"""  # noqa: E501


_KEEP_DOWNLOADS: Final = """
HTMLAnchorElement.prototype.click = function () {
  fetchBlob(this.href).then((text) => { globalThis.saved = [this.download, text]; });
};
const blobs = new Map(), create = URL.createObjectURL;
URL.createObjectURL = (blob) => { const url = create.call(URL, blob); blobs.set(url, blob); return url; };
const fetchBlob = (url) => blobs.get(url).text();
"""  # noqa: E501


class Viewer:
    """What a person sees and does; elements are named by CSS selectors."""

    def __init__(self, driver: Any, address: str) -> None:
        """``address`` is where programs ask, ``origin`` where the viewer is."""
        self.driver, self.address = driver, address
        self.origin = str(ask(address, "POST", "/api/viewer/links")["url"]).partition("/#")[0]

    def open(self, place: str, wanted: str = "main h1, main .found, main article") -> None:
        self.driver.get(f"{self.origin}/#/{place}")
        self.wait(wanted)
        until(lambda: not self.all("main [role=status].quiet"))  # nothing is on its way

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def wait(self, selector: str) -> Any:
        return until(lambda: self.all(selector))[0]

    def text(self, selector: str = "main") -> str:
        return self.driver.execute_script(
            "return document.querySelector(arguments[0])?.textContent ?? ''", selector
        )

    def says(self, text: str, selector: str = "main") -> None:
        until(lambda: text in self.text(selector))

    def press(self, label: str) -> None:
        # In one step: between finding and clicking a button may be drawn anew.
        until(lambda: self.driver.execute_script(_PRESS, label))

    def type(self, text: str) -> None:
        box = self.wait("#question")
        box.clear()
        box.send_keys(text)

    def log_in(self) -> None:
        self.driver.get(ask(self.address, "POST", "/api/viewer/links")["url"])
        until(self.session)
        self.wait("#question")
        assert "login" not in self.driver.current_url  # neither in the history

    def session(self) -> Any:
        return self.driver.execute_script("return localStorage.getItem('mem-search-session')")


@pytest.fixture
def stranger(driver: Any, address: str) -> Iterator[Viewer]:
    """A browser that is not logged in. What its console says beside refusals is a failure."""
    found = Viewer(driver, address)
    driver.get(f"{found.origin}/")
    driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    driver.get("about:blank")  # what that page had asked as somebody who is logged in
    driver.set_window_size(1200, 900)
    driver.get_log("browser")
    yield found
    told = [each["message"] for each in driver.get_log("browser")]
    assert [each for each in told if "401 (Unauthorized)" not in each] == []


@pytest.fixture
def viewer(stranger: Viewer) -> Viewer:
    """A browser that a link has logged in."""
    stranger.log_in()
    return stranger


def test_one_finds_opens_and_comes_back(viewer: Viewer) -> None:
    viewer.open("search")
    viewer.type("auth")
    viewer.says("results")
    until(lambda: "q=auth" in viewer.driver.current_url)  # after a pause
    viewer.wait(".results mark")
    viewer.press("Why")
    viewer.says("It has words of the question (rank", ".reasons")
    first = viewer.wait(".results a")
    title = first.find_element("css selector", ".title").text
    first.click()
    viewer.says(title, "article h1")
    viewer.says("Before and after", "article")
    viewer.says("Citation", "article")
    viewer.press("← Back")
    viewer.wait(".results")


def test_suggestions_come_while_one_types_and_are_chosen_by_keys(viewer: Viewer) -> None:
    viewer.open("search")
    viewer.type("log")
    offer = viewer.wait("#offers li")
    wanted = offer.find_element("css selector", "span").text
    viewer.wait("#question").send_keys(_DOWN + _ENTER)
    until(lambda: viewer.wait("#question").get_attribute("value") == wanted)


def test_filters_orders_and_keys(viewer: Viewer) -> None:
    viewer.open("search?q=auth", '.columns[data-query="auth"] .facets button')
    button = next(each for each in viewer.all(".facets button") if "observation" in each.text)
    wanted = int(button.find_element("css selector", "small").text)
    button.click()
    viewer.says(f"{wanted} result", ".head")
    viewer.wait(".chosen button").click()
    until(lambda: not viewer.all(".chosen"))
    viewer.driver.find_element("css selector", "select").send_keys("Newest")
    until(lambda: "order=date_desc" in viewer.driver.current_url)
    read = "return [...document.querySelectorAll('.result time')].map((each) => each.dateTime)"
    until(lambda: (times := viewer.driver.execute_script(read)) == sorted(times, reverse=True))
    viewer.driver.find_element("css selector", "h2").click()
    body = viewer.driver.find_element("css selector", "body")
    body.send_keys("j")
    active = viewer.driver.switch_to.active_element
    assert active.get_attribute("data-place") == "0"
    active.send_keys("w")
    viewer.wait(".reasons")
    active.send_keys("?")
    viewer.says("next, previous record", "dialog[open]")


_ESCAPE, _ENTER, _DOWN = "\ue00c", "\ue007", "\ue015"

_HOLD_SUGGESTIONS: Final = """
const ask = fetch;
globalThis.held = [];
globalThis.fetch = async (path, options) => {
  const reply = await ask(path, options);
  if (path.includes("/api/suggest")) await new Promise((release) => held.push(release));
  return reply;
};
"""
_LET_THEM_COME: Final = """
held.forEach((release) => release());
setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(arguments[0])));
"""


def focused(viewer: Viewer) -> str:
    return str(viewer.driver.switch_to.active_element.tag_name)


def test_escape_closes_the_suggestions_then_leaves_the_box(viewer: Viewer) -> None:
    viewer.open("search")
    viewer.type("log")
    viewer.wait("#offers li")
    box = viewer.wait("#question")
    box.send_keys(_ESCAPE)
    until(lambda: not viewer.all("#offers li"))
    assert focused(viewer) == "input"
    box.send_keys(_ESCAPE)
    assert focused(viewer) == "body"
    assert box.get_attribute("value") == "log"


@pytest.mark.parametrize("key", [_ESCAPE, _ENTER])
def test_suggestions_that_come_late_stay_closed(viewer: Viewer, key: str) -> None:
    viewer.open("search")
    viewer.driver.execute_script(_HOLD_SUGGESTIONS)
    viewer.type("log")
    until(lambda: viewer.driver.execute_script("return held.length"))
    viewer.wait("#question").send_keys(key)  # one press: nothing is open
    assert focused(viewer) == ("body" if key == _ESCAPE else "input")
    viewer.driver.execute_async_script(_LET_THEM_COME)
    assert not viewer.all("#offers li")
    assert viewer.wait("#question").get_attribute("value") == "log"


def test_a_question_is_logged_when_it_is_asked_not_while_it_is_typed(viewer: Viewer) -> None:
    asked = "/api/search/popular?limit=100"
    viewer.log_in()
    viewer.open("search")
    viewer.type("login password")
    viewer.wait('.columns[data-query="login password"]')
    assert "login password" not in json.dumps(ask(viewer.address, "GET", asked))
    viewer.wait(".results a").click()
    until(lambda: "login password" in json.dumps(ask(viewer.address, "GET", asked)))
    viewer.open("search")
    viewer.type("tokens mobile")
    viewer.wait('.columns[data-query="tokens mobile"]')
    viewer.wait("#question").send_keys(_ENTER)
    until(lambda: "tokens mobile" in json.dumps(ask(viewer.address, "GET", asked)))


def test_the_graph_is_drawn_and_leads_on(viewer: Viewer) -> None:
    for name, text in (("The plan", "Go slowly."), ("A step", "See [[The plan]].")):
        made = ask(
            viewer.address, "POST", "/api/records", {"kind": "note", "title": name, "text": text}
        )
    viewer.open(f"record/{made['ref'].replace(':', '%3A')}", ".graph canvas")
    drawn = "return document.querySelector('.graph')._cyreg.cy.nodes()"
    titles = viewer.driver.execute_script(f"{drawn}.map((node) => node.data('title'))")
    assert sorted(titles) == ["A step", "The plan"]
    viewer.driver.execute_script(
        f"{drawn.removeprefix('return ')}.filter('[title = \"The plan\"]').emit('tap')"
    )
    viewer.says("The plan", "article h1")


_LEAVE_BEFORE_DRAWING: Final = """
let draw;
Object.defineProperty(globalThis, "drawGraph", {
  get: () => draw,
  set(found) { // the script of the drawing has come, and nothing is drawn yet
    draw = found;
    history.replaceState(null, "", "#/projects");
    dispatchEvent(new HashChangeEvent("hashchange"));
  },
});
"""


def test_a_record_that_is_left_draws_no_graph(viewer: Viewer) -> None:
    for name, text in (("The pier", "It is long."), ("A bridge", "See [[The pier]].")):
        made = ask(
            viewer.address, "POST", "/api/records", {"kind": "note", "title": name, "text": text}
        )
    viewer.driver.get("about:blank")  # the script comes once a page
    viewer.open("settings")
    viewer.driver.execute_script(_LEAVE_BEFORE_DRAWING)
    record = f"#/record/{made['ref'].replace(':', '%3A')}"
    viewer.driver.execute_script("location.hash = arguments[0]", record)
    viewer.wait('nav a[aria-current="page"][href="#/projects"]')
    # The fixture reads the console when what waited for a frame has run.
    viewer.driver.execute_async_script("setTimeout(arguments[0], 200)")


def test_jobs_and_the_ledger_are_live(viewer: Viewer, tmp_path: Path) -> None:
    file = tmp_path / "harbour.jsonl"
    file.write_text('{"kind": "note", "text": "The harbour is closed."}\n', "utf-8")
    viewer.log_in()
    viewer.open("jobs")
    ask(viewer.address, "POST", "/api/import", {"path": str(file)})
    viewer.says("harbour.jsonl", ".jobs")
    viewer.says("1 new", ".jobs")
    viewer.says("harbour.jsonl", "table")


def test_a_file_is_added_and_opened(viewer: Viewer, tmp_path: Path) -> None:
    letters = [tmp_path / "ferry.txt", tmp_path / "pier.txt"]
    for letter in letters:
        letter.write_text(f"The {letter.stem} opens on Monday.", "utf-8")
    empty = tmp_path / "empty.txt"
    empty.touch()
    viewer.log_in()
    viewer.open("jobs")
    viewer.wait("input[type=file]").send_keys("\n".join(map(str, [*letters, empty])))
    viewer.says("the file is empty", ".notices")
    viewer.says("1 new", ".jobs")
    viewer.wait(".jobs a").click()
    viewer.says("opens on Monday", "main article")
    told = [each["message"] for each in viewer.driver.get_log("browser")]
    assert ["/documents/upload" in each for each in told] == [True]  # the file that was refused


def test_a_day_of_the_calendar_leads_to_its_records(viewer: Viewer) -> None:
    viewer.open("calendar?year=2025", ".day[href]")
    day = viewer.wait(".day[href]")
    wanted = day.get_attribute("title").split(": ")[1].split(" ")[0]
    day.click()
    until(lambda: len(viewer.all(".result")) == int(wanted))


def test_only_a_browser_that_is_logged_in_sees_anything(stranger: Viewer) -> None:
    for page in (*PAGES, "record/note%3A1"):
        stranger.open(page, ".problem")
        stranger.says("mem-search view", ".problem")
    stranger.log_in()
    stranger.open("jobs")
    assert not stranger.all(".problem")
    stranger.open("settings", "table")
    stranger.says("MEM_SEARCH_EMBEDDER")
    stranger.press("Log this browser out")
    stranger.says("mem-search view", ".problem")


def test_the_address_of_a_record_leads_a_new_tab_to_its_page(viewer: Viewer) -> None:
    made = ask(
        viewer.address, "POST", "/api/records", {"kind": "note", "text": "The pier is long."}
    )
    viewer.driver.switch_to.new_window("tab")
    viewer.driver.get(f"{viewer.address}/v/{made['ref']}")
    viewer.says("The pier is long.", "article")
    assert viewer.driver.current_url.startswith(f"{viewer.origin}/#/record/")
    viewer.driver.get(f"{viewer.address}/")
    viewer.says("mem-search view", "body")
    viewer.driver.close()
    viewer.driver.switch_to.window(viewer.driver.window_handles[0])


def test_a_link_leads_to_its_place_also_in_a_tab_that_shows_the_viewer(stranger: Viewer) -> None:
    stranger.driver.get(f"{stranger.origin}/#/projects")
    stranger.wait(".problem")
    link = ask(stranger.address, "POST", "/api/viewer/links")["url"]
    stranger.driver.get(f"{link}/search?q=auth")
    stranger.wait('.columns[data-query="auth"]')
    until(stranger.session)
    assert stranger.driver.current_url == f"{stranger.origin}/#/search?q=auth"
    stranger.driver.get("about:blank")
    stranger.driver.get(f"{link}/jobs")  # once more
    stranger.says("this link was used", "main .login")
    stranger.press("Go on")
    stranger.says("Jobs", "main h1")
    stranger.driver.get_log("browser")  # which notes the refusal


def test_a_link_that_is_opened_in_another_tab_logs_a_waiting_one_in(stranger: Viewer) -> None:
    stranger.open("jobs", ".login")
    waiting = stranger.driver.current_window_handle
    stranger.driver.switch_to.new_window("tab")
    stranger.log_in()
    stranger.driver.close()
    stranger.driver.switch_to.window(waiting)
    stranger.says("Add files")
    assert not stranger.all(".login")


def test_browsers_that_are_logged_in_are_shown_and_ended(viewer: Viewer) -> None:
    def ended(session: str) -> None:
        ask(viewer.address, "DELETE", f"/api/viewer/sessions/{session}")

    def sessions() -> list[str]:
        found = ask(viewer.address, "GET", "/api/viewer/sessions")["sessions"]
        return [each["id"] for each in found]

    for session in sessions():
        ended(session)
    viewer.log_in()
    (other,) = sessions()
    viewer.log_in()
    (own,) = set(sessions()) - {other}
    viewer.open("settings", "table")
    viewer.says("on Linux (this one)")
    viewer.press("End")
    until(lambda: sessions() == [own])
    ended(own)
    viewer.open("jobs", ".problem")
    viewer.says("mem-search view", ".problem")
    assert not viewer.session()


def test_a_link_that_does_not_count_ends_no_login(viewer: Viewer) -> None:
    """Whoever knows the address could log a browser out by a link."""
    viewer.log_in()
    before = viewer.session()
    viewer.driver.get("about:blank")
    viewer.driver.get(f"{viewer.origin}/#/login/nonsense")
    viewer.says("was used or is too old", "body")
    assert viewer.session() == before
    viewer.driver.get_log("browser")  # which says that the link was refused


def test_a_page_on_another_port_gets_nothing_of_the_login(viewer: Viewer) -> None:
    """A server of a neighbour takes what browsers send to every port: cookies."""
    viewer.log_in()
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as neighbour:
        neighbour.settimeout(PATIENCE)

        def answer() -> None:
            connection, _ = neighbour.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = Thread(target=answer)
        thread.start()
        viewer.driver.get(f"http://127.0.0.1:{neighbour.getsockname()[1]}/")
        thread.join()
    assert heard[0].startswith(b"GET / ")
    assert b"cookie" not in heard[0].lower()
    assert viewer.driver.execute_script("return localStorage.length") == 0
    viewer.driver.get_log("browser")  # the neighbour has no icon


def test_the_graph_is_saved_as_a_page(viewer: Viewer) -> None:
    for name, text in (("The lock", "It opens."), ("A gate", "See [[The lock]].")):
        made = ask(
            viewer.address, "POST", "/api/records", {"kind": "note", "title": name, "text": text}
        )
    viewer.open(f"record/{made['ref'].replace(':', '%3A')}", ".graph canvas")
    viewer.driver.execute_script(_KEEP_DOWNLOADS)
    viewer.press("Save as a page")
    until(lambda: viewer.driver.execute_script("return globalThis.saved"))
    name, text = viewer.driver.execute_script("return globalThis.saved")
    assert name == "graph.html"
    assert "The lock" in text


def test_forgetting_and_archiving_can_be_undone_before_they_are_final(viewer: Viewer) -> None:
    made = ask(viewer.address, "POST", "/api/records", {"kind": "note", "text": "Forget me soon."})
    whole = f"/api/records/{made['ref']}?format=json"
    viewer.log_in()
    for wish in ("Forget", "Archive"):
        viewer.open(f"record/{made['ref'].replace(':', '%3A')}")
        viewer.press(wish)
        viewer.press("Undo")
        viewer.says("The record stays", ".notices")
        assert not ask(viewer.address, "GET", whole)["archived"]
    viewer.press("Forget")
    viewer.press("Archive")  # the later wish counts, and can alone be undone
    until(lambda: len(viewer.all(".notices button")) == 1)
    viewer.says("Archived.", ".notices")
    assert ask(viewer.address, "GET", whole)["archived"]
    viewer.press("Take out of the archive")
    viewer.says("Out of the archive", ".notices")
    viewer.press("Forget")
    viewer.driver.get(f"{viewer.origin}/docs")  # a page that is left does not wait
    ends = "/api/search?query=Forget+me+soon&kinds=note&format=json"
    until(lambda: made["ref"] not in json.dumps(ask(viewer.address, "GET", ends)))


def test_a_citation_is_shown_in_the_style_that_is_chosen(viewer: Viewer) -> None:
    page = {"kind": "website", "title": "Of kettles", "text": "Kettles need water.",
            "url": "https://example.org/kettles", "created_at": "2025-05-04T10:00:00Z"}  # fmt: skip
    ref = ask(viewer.address, "POST", "/api/records", page)["ref"]
    viewer.open(f"record/{ref.replace(':', '%3A')}", ".citation")
    shown = set()
    for style in ("mla", "chicago", "bibtex", "ris", "apa"):
        viewer.wait(f".below option[value={style}]").click()
        wanted = ask_text(viewer.address, f"/api/citations?refs={ref}&style={style}").strip()
        viewer.says(wanted, ".citation")
        shown.add(wanted)
    assert len(shown) == 5


def test_the_progress_of_embedding_is_shown(
    viewer: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = Event()
    embed = HashingEmbedder.embed

    def once_it_may(self: HashingEmbedder, texts: Sequence[str]) -> Vectors:
        assert goes_on.wait(PATIENCE)
        return embed(self, texts)

    file = tmp_path / "kettles.jsonl"
    lines = (json.dumps({"kind": "note", "text": f"The kettle {n} is warm."}) for n in range(100))
    file.write_text("\n".join(lines), "utf-8")
    viewer.log_in()
    viewer.open("jobs")
    bar = 'progress[aria-label="Embedding passages"]'
    assert not viewer.all(bar)
    with monkeypatch.context() as patch:
        patch.setattr(HashingEmbedder, "embed", once_it_may)
        ask(viewer.address, "POST", "/api/import", {"path": str(file)})
        viewer.says("Embedding passages")
        viewer.says("0 / 100")
        assert viewer.wait(bar).get_attribute("max") == "100"
        goes_on.set()
    until(lambda: not viewer.all(bar))


def test_a_saved_search_keeps_its_filters_is_run_and_deleted(viewer: Viewer) -> None:
    viewer.log_in()
    viewer.open("search?q=auth&kind=observation&kind=note&month=2025-10", ".found")
    viewer.press("Save this search")
    viewer.wait("#saved-name").clear()
    viewer.wait(".head form option[value='1d']").click()
    viewer.wait("#saved-name").send_keys("about-auth\n")
    viewer.says("Saved.", ".notices")

    def saved() -> dict[str, Any]:
        (found,) = ask(viewer.address, "GET", "/api/v1/saved-searches")["saved_searches"]
        return dict(found)

    assert saved()["search"]["query"] == 'auth kind:"observation","note" in:"2025-10"'
    assert saved()["every"] == "1d"
    viewer.open("saved", ".cards")
    viewer.says("about-auth")
    viewer.wait(".cards option[value='1h']").click()
    until(lambda: saved()["every"] == "1h")
    viewer.press("Run now")
    viewer.says("new", ".notices")
    viewer.press("Delete")
    viewer.says("No saved searches yet")
    viewer.press("Undo")
    viewer.says("about-auth", ".cards")
    viewer.press("Delete")
    viewer.says("No saved searches yet")


def test_a_session_of_research_is_replayed_and_says_what_has_changed(viewer: Viewer) -> None:
    def add(text: str) -> str:
        made = ask(viewer.address, "POST", "/api/records", {"kind": "note", "text": text})
        return str(made["ref"])

    def step(query: str, **more: str) -> str:
        asked = {"query": query, "mode": "deep_research", "session_id": "lamps", **more}
        (done,) = ask(viewer.address, "POST", "/api/v1/search", asked)["operations"]
        return str(done["id"])

    gone, _ = add("The lighthouse lamp is green."), add("The lighthouse lamp was red.")
    step("lighthouse lamp", parent_operation_id=step("lighthouse"))
    ask(viewer.address, "DELETE", f"/api/records/{gone}")
    viewer.log_in()
    viewer.open("research", ".cards a")
    viewer.wait(".cards a").click()
    viewer.says("lighthouse lamp", ".tree .tree")
    viewer.press("Replay")
    viewer.says("1 gone", ".tree .tree")
    viewer.says(f"gone: {gone} was at place", ".tree .tree")


def record(viewer: Viewer, **fields: Any) -> str:
    """The place of a new record."""
    ref = str(ask(viewer.address, "POST", "/api/records", {"kind": "note", **fields})["ref"])
    return f"record/{ref.replace(':', '%3A')}"


NOTE: Final = """# Tides

The **tide** turns at `06:10`, see [[Moon phases|the moon]], [the plan](plan.md), [[No such note]]
and https://example.org/tides.

- [x] measure it
- [ ] write it down

1. First:

   ```
   tide --now
   ```
2. Then rest.

| day | height |
|---|---|
| Mon | 3 m |
"""


def test_a_record_is_shown_as_its_markdown_and_its_links_lead_to_records(viewer: Viewer) -> None:
    moon = record(viewer, title="Moon phases", text="Full on Friday.")
    place = record(viewer, title="Tides", text=NOTE)
    viewer.open(f"{place}?words=tide")
    shown = {each: viewer.text(f".body {each}") for each in ("strong", "code", "pre", "td")}
    assert shown == {"strong": "tide", "code": "06:10", "pre": "tide --now", "td": "Mon"}
    assert [each.text for each in viewer.all(".body ul li")] == ["☑ measure it", "☐ write it down"]
    links = {each.text: each.get_attribute("href") for each in viewer.all(".body a")}
    assert links["https://example.org/tides"] == "https://example.org/tides"
    assert links["No such note"].endswith("#/search?q=No+such+note")
    assert len(viewer.all("h1, .body h2")) == 1  # the title is not there twice
    viewer.wait("body").send_keys("n")
    assert viewer.text("mark.this") == "tide"
    viewer.driver.find_element("link text", "the moon").click()
    viewer.says("Full on Friday", ".body")
    assert viewer.driver.current_url.endswith(moon)


def test_a_mail_has_its_people_its_thread_and_what_it_quotes(viewer: Viewer) -> None:
    mail: dict[str, Any] = {"kind": "email", "session": "t1", "title": "Ferry", "text": "It sails."}
    people = {"from": ["Ada <ada@example.org>"], "to": ["Ben <ben@example.org>"],
              "thread_id": "t1", "message_id": "<f1@example.org>"}  # fmt: skip
    record(viewer, **mail, metadata=people)
    answer = {**people, "quoted": "> It sails.", "message_id": "<f2@example.org>"}
    viewer.open(record(viewer, **{**mail, "title": "Re: Ferry"}, metadata=answer))
    viewer.says("Ada <ada@example.org>", ".people")
    viewer.says("Ben <ben@example.org>", ".people")
    assert [each.text for each in viewer.all("article .lines .title")][:2] == ["Ferry", "Re: Ferry"]
    viewer.says("> It sails.", "details .quoted")
    assert viewer.wait(".original a").get_attribute("href") == "mid:f2@example.org"


def test_a_session_is_replayed_as_a_timeline(viewer: Viewer) -> None:
    steps = [("user_prompt", "Find the leak", {}), ("observation", "Read pump.py", {}),
             ("observation", "Use one pump, because two leak", {"type": "decision"}),
             ("user_prompt", "Thanks", {})]  # fmt: skip
    for minute, (kind, text, metadata) in enumerate(steps):
        place = record(
            viewer, kind=kind, title=text, text=text, metadata=metadata, session="leak 1/2",
            created_at=f"2025-05-04T10:0{minute}:00Z",
        )  # fmt: skip
    viewer.open(place)
    viewer.driver.find_element("link text", "its session").click()
    viewer.wait(".timeline")

    def shown() -> list[tuple[str, str]]:
        found = viewer.all(".timeline > li")
        return [
            (
                each.get_attribute("class"),
                each.find_element("css selector", ".title").text.strip('"'),
            )
            for each in found
        ]

    kinds = ["prompt", "step", "decision", "prompt"]
    assert shown() == [(kind, step[1]) for kind, step in zip(kinds, steps, strict=True)]
    viewer.driver.find_element("link text", "Only prompts and decisions").click()
    until(lambda: [kind for kind, _ in shown()] == ["prompt", "decision", "prompt"])
    viewer.wait("body").send_keys("j")
    viewer.driver.switch_to.active_element.send_keys(_ENTER)
    viewer.says("Find the leak", "article h1")


def test_more_of_a_large_graph_is_drawn_when_it_is_asked_for(viewer: Viewer) -> None:
    for number in range(20):
        record(viewer, title=f"Spoke {number}", text="See [[Hub]].")
    viewer.open(record(viewer, title="Hub", text="In the middle."), ".graph canvas")
    drawn = "return document.querySelector('.graph')?._cyreg?.cy.nodes().length"
    assert viewer.driver.execute_script(drawn) == 15
    viewer.press("Show up to 30")
    until(lambda: viewer.driver.execute_script(drawn) == 21)


def test_suggestions_for_other_words_than_those_of_the_results_go_at_once(viewer: Viewer) -> None:
    viewer.open("search")
    viewer.type("log")
    viewer.wait("#offers li")
    viewer.driver.execute_script(_HOLD_SUGGESTIONS)
    viewer.wait("#question").send_keys("x")
    until(lambda: not viewer.all("#offers li"))


def test_settings_say_what_they_are_and_tokens_are_revoked(viewer: Viewer) -> None:
    ask(viewer.address, "POST", "/api/v1/tokens", {"name": "old-phone"})
    viewer.open("settings", "table")
    viewer.says("seconds between readings of followed locations")
    viewer.says("config.toml")
    viewer.driver.execute_script("globalThis.confirm = () => true")
    viewer.press("Revoke")
    until(lambda: not viewer.all("main button") or "old-phone" not in viewer.text())
    assert ask(viewer.address, "GET", "/api/v1/tokens")["tokens"] == []


def test_ten_results_stand_in_800_pixels_and_a_match_is_in_sight_at_390(viewer: Viewer) -> None:
    for number in range(12):
        text = f"{'Something else is said before. ' * number}The quay {number} is of granite."
        record(viewer, title=f"Walk {number}", text=text)
    viewer.driver.set_window_size(1280, 939)
    viewer.open("search?q=granite", '.columns[data-query="granite"] .result')
    place = "const box = arguments[0].getBoundingClientRect(); return box.bottom"
    tenth = viewer.all(".result")[9]
    assert viewer.driver.execute_script(place, tenth) <= 800
    viewer.driver.set_window_size(390, 900)
    for mark in viewer.all(".snippet"):
        found = mark.find_element("css selector", "mark")
        seen = "const [a, b] = arguments; return b.getBoundingClientRect().bottom <= a.getBoundingClientRect().bottom"  # noqa: E501
        assert viewer.driver.execute_script(seen, mark, found)


def test_what_is_not_there_leads_on(viewer: Viewer) -> None:
    viewer.open("record/note%3A999999", "main h1")
    viewer.says("There is no record note:999999", "h1")
    assert viewer.all("main a[href='#/search']")
    viewer.driver.get_log("browser")  # which notes the 404
    viewer.driver.switch_to.new_window("tab")
    viewer.open(record(viewer, text="Fresh."))
    viewer.press("← Back")
    viewer.wait("#question")
    viewer.driver.close()
    viewer.driver.switch_to.window(viewer.driver.window_handles[0])


def test_an_empty_store_says_how_to_fill_it(viewer: Viewer) -> None:
    viewer.driver.execute_script(_FIND_NOTHING)
    viewer.driver.execute_script("location.hash = '#/jobs'")
    viewer.says("Jobs", "main h1")
    viewer.driver.execute_script("location.hash = '#/search?q=anything'")
    for said in ("quickstart", "sync", "add", "Upload"):
        viewer.says(said, ".ways")


def test_a_question_without_an_answer_leads_on(viewer: Viewer) -> None:
    viewer.open("search?q=xyzzyx&kind=note", '.columns[data-query="xyzzyx"]')
    viewer.driver.find_element("link text", "Without the filters").click()
    until(lambda: not viewer.all(".chosen"))
    viewer.press("Search the archive, too")
    until(lambda: "archived=1" in viewer.driver.current_url)
    viewer.driver.find_element("link text", "Newest records").click()
    viewer.wait(".result")


_FIND_NOTHING: Final = """
const ask = fetch;
globalThis.fetch = async (path, options) => {
  const reply = await ask(path, options);
  const isSearch = path.includes("/api/viewer/search");
  if (!isSearch && path !== "/api/stats") return reply;
  const none = isSearch ? { results: [], total: 0, weaker: 0 } : { records: { total: 0 } };
  const page = { ...await reply.json(), ...none };
  return new Response(JSON.stringify(page), { headers: { "Content-Type": "application/json" } });
};
"""


def test_an_action_of_somebody_who_is_logged_out_asks_to_log_in_at_once(viewer: Viewer) -> None:
    viewer.open(record(viewer, text="Stay."))
    viewer.driver.execute_script("localStorage.clear()")
    for wish in ("Archive", "Forget"):
        viewer.press(wish)
        viewer.says("mem-search view", "dialog.login[open]")
        assert not viewer.all(".notices button")
        viewer.press("Close")
        until(lambda: not viewer.all("dialog.login"))
    viewer.log_in()


def test_stored_text_is_never_markup(viewer: Viewer) -> None:
    viewer.open("search?q=hostile", '.columns[data-query="hostile"] .results')
    viewer.says("<script>", ".results")
    viewer.wait(".results a").click()
    viewer.says("<script>", "article")
    assert not viewer.all("article img, article script, a[href^='javascript']")
    assert viewer.driver.title != "1"
    hostile = f"{EVIL}\n\n[x](javascript:document.title=1) [[javascript:document.title=1]]\n\n- {EVIL}\n\n```{EVIL}\n{EVIL}\n```\n\n|{EVIL}|\n|-|\n|{EVIL}|\n\n![y](data:text/html,{EVIL})"  # noqa: E501
    viewer.open(record(viewer, title="Hostile markdown", text=hostile))
    viewer.says("<script>", ".body td")
    assert not viewer.all("article img, article script, a[href^='javascript'], a[href^='data']")
    assert viewer.driver.title != "1"


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_can_be_used_by_everybody(viewer: Viewer, theme: str, width: int) -> None:
    viewer.log_in()
    viewer.driver.set_window_size(width, 900)
    viewer.driver.execute_script(f"localStorage.setItem('mem-search-theme', '{theme}')")
    viewer.driver.refresh()
    found = ask(viewer.address, "GET", "/api/search?query=login&format=json&limit=1")
    found_record = f"record/{found['results'][0]['ref'].replace(':', '%3A')}"
    record(viewer, kind="user_prompt", title="Ask", text="Ask", session="axe")
    session = "session/axe"
    faults = {}
    for place in (*PAGES, found_record, session, "record/note%3A999999"):
        viewer.open(place)
        viewer.driver.execute_script(AXE)
        report = viewer.driver.execute_async_script("axe.run().then(arguments[0])")
        serious = [
            (each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"])
            for each in report["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        wide = viewer.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if serious or wide > 0:
            faults[place] = serious, wide
    viewer.driver.get_log("browser")  # which notes the record that is not there
    assert not faults
