"""The viewer in a real browser: every page, the main tasks, and nothing in its console.

Skipped where no browser is. axe-core (``vendor``) looks for what a person with a screen reader or
without a mouse cannot use.
"""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from http_worker import AUTHORIZED
from threaded_worker import serving

from patience import until

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE: Final = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
PAGES: Final = (
    "search", "search?q=auth", "calendar?year=2025", "projects", "jobs", "saved", "research",
    "settings",
)  # fmt: skip
EVIL: Final = '<img src=x onerror="document.title=1"><script>document.title=1</script>{{7*7}}\u202e'


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("viewer")) as found:
        hostile = {"kind": "note", "title": f"Hostile {EVIL}", "text": EVIL, "tags": [EVIL],
                   "project": EVIL, "url": "javascript:document.title=1"}  # fmt: skip
        ask(found, "POST", "/api/records", hostile)
        yield found


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if not BROWSER or not DRIVER:
        pytest.skip("no browser: install chromium and chromedriver (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1200,900",
                     f"user-data-dir={profile}"):  # fmt: skip
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield found
    found.quit()


def ask(address: str, method: str, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        f"{address}{path}", None if body is None else json.dumps(body).encode(), method=method,
        headers={**AUTHORIZED, "Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read() or b"null")


_PRESS: Final = """
const found = [...document.querySelectorAll("button")].find((each) => each.textContent.trim().startsWith(arguments[0]));
found?.click();
return Boolean(found);
"""  # noqa: E501


class Viewer:
    """What a person sees and does; elements are named by CSS selectors."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, place: str, wanted: str = "main h1, main .found, main article") -> None:
        self.driver.get(f"{self.address}/#/{place}")
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
        self.wait("#question")


@pytest.fixture
def viewer(driver: Any, address: str) -> Iterator[Viewer]:
    """A browser that is not logged in. What its console says beside refusals is a failure."""
    driver.get(f"{address}/")
    driver.delete_all_cookies()
    driver.execute_script("localStorage.clear()")
    driver.set_window_size(1200, 900)
    driver.get_log("browser")
    yield Viewer(driver, address)
    told = [each["message"] for each in driver.get_log("browser")]
    assert [each for each in told if "401 (Unauthorized)" not in each] == []


def test_one_finds_opens_and_comes_back(viewer: Viewer) -> None:
    viewer.open("search")
    viewer.type("auth")
    viewer.says("results")
    assert "q=auth" in until(lambda: viewer.driver.current_url)
    viewer.wait(".results mark")
    viewer.press("Why")
    viewer.says("Words of the question stand in it, place", ".why")
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
    viewer.wait("#question").send_keys("\ue015\ue007")  # arrow down, Enter
    until(lambda: viewer.wait("#question").get_attribute("value") == wanted)


def test_filters_orders_and_keys(viewer: Viewer) -> None:
    viewer.open("search?q=auth", ".facets button")
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
    body.send_keys("?")
    viewer.says("next, previous result", "dialog[open]")


def test_a_day_of_the_calendar_leads_to_its_records(viewer: Viewer) -> None:
    viewer.open("calendar?year=2025", ".day[href]")
    day = viewer.wait(".day[href]")
    wanted = day.get_attribute("title").split(": ")[1].split(" ")[0]
    day.click()
    until(lambda: len(viewer.all(".result")) == int(wanted))


def test_only_a_browser_that_is_logged_in_sees_jobs_and_changes(viewer: Viewer) -> None:
    viewer.open("jobs", ".problem")
    viewer.says("mem-search view", ".problem")
    viewer.log_in()
    viewer.open("jobs")
    assert not viewer.all(".problem")
    viewer.open("settings", "table")
    viewer.says("MEM_SEARCH_EMBEDDER")
    viewer.press("Log this browser out")
    viewer.says("mem-search view", ".problem")


def test_forgetting_can_be_undone_before_it_is_final(viewer: Viewer) -> None:
    made = ask(viewer.address, "POST", "/api/records", {"kind": "note", "text": "Forget me soon."})
    place = f"record/{made['ref'].replace(':', '%3A')}"
    viewer.log_in()
    viewer.open(place)
    viewer.press("Forget")
    viewer.press("Undo")
    viewer.says("The record stays", ".notices")
    assert ask(viewer.address, "GET", f"/api/records/{made['ref']}?format=json")["ref"]
    viewer.press("Archive")
    viewer.says("Take out of the archive", "article")
    viewer.press("Forget")
    viewer.driver.get(f"{viewer.address}/docs")  # a page that is left does not wait
    ends = "/api/search?query=Forget+me+soon&kinds=note&format=json"
    until(lambda: made["ref"] not in json.dumps(ask(viewer.address, "GET", ends)))


def test_a_saved_search_is_made_run_and_deleted(viewer: Viewer) -> None:
    viewer.log_in()
    viewer.open("search?q=auth", ".results")
    viewer.press("Save this search")
    viewer.wait("#saved-name").clear()
    viewer.wait("#saved-name").send_keys("about-auth\n")
    viewer.says("Saved.", ".notices")
    viewer.open("saved", ".cards")
    viewer.says("about-auth")
    viewer.press("Run now")
    viewer.says("new", ".notices")
    viewer.press("Delete")
    viewer.says("No saved searches yet")


def test_stored_text_is_never_markup(viewer: Viewer) -> None:
    viewer.open("search?q=hostile", ".results")
    viewer.says("<script>", ".results")
    viewer.wait(".results a").click()
    viewer.says("<script>", "article")
    assert not viewer.all("article img, article script, a[href^='javascript']")
    assert viewer.driver.title != "1"


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_can_be_used_by_everybody(viewer: Viewer, theme: str, width: int) -> None:
    viewer.log_in()
    viewer.driver.set_window_size(width, 900)
    viewer.driver.execute_script(f"localStorage.setItem('mem-search-theme', '{theme}')")
    viewer.driver.refresh()
    found = ask(viewer.address, "GET", "/api/search?query=login&format=json&limit=1")
    record = f"record/{found['results'][0]['ref'].replace(':', '%3A')}"
    faults = {}
    for place in (*PAGES, record):
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
    assert not faults
