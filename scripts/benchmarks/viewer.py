"""The viewer in a headless Chromium: how soon it paints, and searches while somebody types."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1] / "shared"))

import store
from browser import chromium
from figures import Bar, median, percentile, spread
from process import Worker, worker

import questions

OPENED: Final = 20
QUESTIONS: Final = 30
KEYS: Final = 14
"""Characters of each question that are typed, one after another."""
_WARM: Final = 2
_PATIENCE: Final = 30.0

_FIRST_RECORDS: Final = """
new MutationObserver((_, watch) => {
  if (!document.querySelector(".result")) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.recordsPainted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
"""In the page before its own scripts: when its first records were painted."""

_PAINTED: Final = """
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return window.recordsPainted && paint ? [paint.startTime, window.recordsPainted] : null;
"""

_TYPE: Final = """
const [text, done] = arguments;
const box = document.getElementById("question");
const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const shown = () => document.querySelector(".columns")?.dataset.query === text.trim();
const began = performance.now();
const watch = new MutationObserver(() => {
  if (!shown()) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
});
watch.observe(document.body, { childList: true, subtree: true, attributes: true });
write.call(box, text);
box.dispatchEvent(new InputEvent("input", { bubbles: true }));
"""
"""Milliseconds from a key to the painted results of what then stands in the box."""


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and bars for the store in ``home``; typing is not logged, so it stays as it is."""
    asked = questions.draw(home, _WARM + QUESTIONS)
    with (
        store.copied(home, home.parent) as copy,
        worker(copy, embedder) as running,
        chromium(1200, 900) as driver,
    ):
        driver.set_script_timeout(_PATIENCE)
        before = {"source": _FIRST_RECORDS}
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", before)
        page = _log_in(driver, running)
        opened = [_open(driver, page) for _ in range(_WARM + OPENED)][_WARM:]
        keys = [_typed(driver, text) for text in asked][_WARM:]
    paints, records = ([each[at] for each in opened] for at in (0, 1))
    each_key = [ms for times in keys for ms in times]
    last = [times[-1] for times in keys]
    figures = {
        **spread(paints, "first paint"),
        "first records painted p50 ms": median(records),
        **spread(each_key, "key to painted results"),
        "last key to painted results p50 ms": median(last),
        "keys": len(each_key),
    }
    return figures, [
        Bar("viewer: first paint p95 ms", percentile(paints, 0.95), 300),
        Bar("viewer: first records painted p50 ms", median(records), 300),
        Bar("viewer: key to painted results p50 ms", median(each_key), 100),
    ]


def _log_in(driver: Any, running: Worker) -> str:
    """The address of the viewer, at which the browser is logged in now."""
    link = running.json("POST", "/api/viewer/links")["url"]
    driver.get(link)
    _painted(driver)
    page, _, _ = link.partition("#")
    return str(page)


def _open(driver: Any, page: str) -> list[float]:
    """Milliseconds from the request of ``page`` to its first paint, and to its first records."""
    driver.get("about:blank")
    driver.get(page)
    return _painted(driver)


def _painted(driver: Any) -> list[float]:
    deadline = time.monotonic() + _PATIENCE
    while (painted := driver.execute_script(_PAINTED)) is None:
        if time.monotonic() > deadline:
            sys.exit("the viewer shows no records")
        time.sleep(0.02)
    return [float(each) for each in painted]


def _typed(driver: Any, text: str) -> list[float]:
    """Milliseconds for each key of ``text``, without spaces, which change no question."""
    return [
        float(driver.execute_async_script(_TYPE, text[:end]))
        for end in range(1, min(len(text), KEYS) + 1)
        if text[end - 1] != " "
    ]
