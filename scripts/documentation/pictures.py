"""The pictures of the README: the real terminal and the real viewer, on the machine of ``person``.

A picture carries what it shows: the terminal its text, which is that of the README, and the viewer
the digest of its own files. So ``--check`` needs no browser: it compares both, and the size. Making
them needs chromium, chromedriver and a font with emoji, such as fonts-noto-color-emoji.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import os
import re
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "shared"))

from browser import chromium
from checkout import ROOT
from examples import Shell, examples
from person import move_in
from story import STORIES, told

FOLDER: Final = ROOT / "docs" / "pictures"
TERMINAL: Final = FOLDER / "terminal.png"
VIEWER: Final = FOLDER / "viewer.png"
_README: Final = "README.md"
_VIEWER_FILES: Final = ROOT / "src" / "mem_search" / "viewer"

MAX_BYTES: Final = 200_000
"""Of one picture: who clones the project loads it, and every change of it."""

_ASKED: Final = "rent of the workshop"
_SEEN: Final = "640 euros"
"""What the viewer is asked, and words of the answer: when they stand on the page, it is ready."""

_WIDTH, _HEIGHT = 1200, 720
_PATIENCE: Final = 60.0
"""Seconds until the viewer has to show the answer, on a busy machine."""

_KEYWORD: Final = b"Description"
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEAD_BYTES: Final = len(_SIGNATURE) + 25
"""The signature and the chunk IHDR, which has to be the first."""

_COLOUR: Final = re.compile("\x1b\\[([0-9;]*)m")
_LINK: Final = re.compile("\x1b\\]8;;[^\x1b]*\x1b\\\\")
_CONTROL: Final = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_STYLES: Final = {
    "1": "font-weight:700",
    "2": "color:#6e7781",
    "36": "color:#0550ae",
    "1;33": "color:#953800;font-weight:700",
}
_PAGE: Final = """<!DOCTYPE html><meta charset="utf-8"><title>terminal</title><style>
body { margin: 0; background: #f6f8fa; }
.bar { padding: 9px 14px; color: #6e7781; font: 13px sans-serif; }
pre { margin: 0; padding: 14px 16px 18px; background: #fff; color: #1f2328;
  border-top: 1px solid #d0d7de; font: 15px/1.4 "DejaVu Sans Mono", monospace; }
b { color: #1a7f37; }
</style><div id="all" style="width: max-content; border: 1px solid #d0d7de">
<div class="bar">mem-search</div><pre>%s</pre></div>"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/pictures", description=__doc__)
    parser.add_argument("--check", action="store_true", help="make none; say what is out of date")
    if parser.parse_args().check:
        found = [*wrong(), *outdated_viewer()]
        print("\n".join(found) or "the pictures show what is")
        return 1 if found else 0
    make()
    return 0


def readme_text() -> str:
    """The commands of the README that show what they print, and what that is."""
    found = examples((ROOT / _README).read_text("utf-8"))
    return "\n".join(
        f"$ {each.command}\n{each.printed.strip()}\n" for each in found if each.printed
    )


def wrong() -> Iterator[str]:
    """What is wrong with the pictures, as far as it can be told without a browser."""
    linked = (ROOT / _README).read_text("utf-8")
    for file in (TERMINAL, VIEWER):
        name = file.relative_to(ROOT).as_posix()
        if not file.is_file() or not file.read_bytes().startswith(_SIGNATURE):
            yield f"{name} is no picture; run: scripts/pictures"
        elif (size := file.stat().st_size) > MAX_BYTES:
            yield f"{name} has {size} bytes; {MAX_BYTES} are the most"
        if f"({name})" not in linked:
            yield f"{_README} does not show {name}"
    if TERMINAL.is_file() and said(TERMINAL) != readme_text():
        yield f"the terminal shows other words than {_README}; run: scripts/pictures"


def outdated_viewer() -> Iterator[str]:
    """Whether the viewer has changed since it was drawn, which may or may not be seen."""
    if VIEWER.is_file() and said(VIEWER) != _viewer_digest():
        yield "the viewer has changed since its picture was made; run: scripts/pictures"


def _viewer_digest() -> str:
    digest = hashlib.sha256()
    for file in sorted(filter(Path.is_file, _VIEWER_FILES.rglob("*"))):
        if file.suffix not in (".py", ".pyc"):
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def make() -> None:
    """Write both pictures. Ends the program where a part is missing."""
    FOLDER.mkdir(exist_ok=True)
    looks = ("hide-scrollbars", "lang=en")
    with TemporaryDirectory() as folder, chromium(_WIDTH, _HEIGHT, *looks) as driver:
        light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
        home = Path(folder) / "me"
        move_in(home)
        with Shell(home, os.environ, colours=True) as shell:
            for name in STORIES:
                if name != _README:
                    told(shell, name)
            shell.new_document()
            shown = [(each.command, _painted(shell, each.command))
                     for each in examples((ROOT / _README).read_text("utf-8"))
                     if each.printed]  # fmt: skip
            text = "\n".join(f"$ {command}\n{_CONTROL.sub('', raw)}\n" for command, raw in shown)
            if text != readme_text():
                sys.exit(f"{_README} shows something else; run first: scripts/docs --story")
            _write(TERMINAL, _terminal(driver, Path(folder), shown), text)
            _write(VIEWER, _viewer(driver, shell), _viewer_digest())


def _painted(shell: Shell, command: str) -> str:
    code, raw = shell.painted(command)
    if code:
        sys.exit(f"{command} ends with {code}:\n{raw}")
    return _LINK.sub("", raw).strip("\n")


def _terminal(driver: Any, folder: Path, shown: list[tuple[str, str]]) -> bytes:
    lines = "\n\n".join(
        f"<b>$</b> {html.escape(command)}\n{_as_html(raw)}" for command, raw in shown
    )
    page = folder / "terminal.html"
    page.write_text(_PAGE % lines, "utf-8")
    driver.get(page.as_uri())
    picture: bytes = driver.find_element("id", "all").screenshot_as_png
    return picture


def _as_html(raw: str) -> str:
    """Text with the colours of a terminal as HTML; a style holds until the next one."""
    pieces = _COLOUR.split(raw)
    parts = [html.escape(pieces[0])]
    for style, text in zip(pieces[1::2], pieces[2::2], strict=True):
        css = _STYLES.get(style, "")
        parts.append(f'<span style="{css}">{html.escape(_CONTROL.sub("", text))}</span>')
    return "".join(parts)


def _viewer(driver: Any, shell: Shell) -> bytes:
    """The page once it shows the answer; how it is marked up does not matter."""
    code, printed = shell.ran(f"mem-search view --link {_ASKED}")
    link = next((line for line in printed.splitlines() if line.startswith("http")), "")
    if code or not link:
        sys.exit(f"mem-search view ends with {code}:\n{printed}")
    driver.get(link)
    deadline = time.monotonic() + _PATIENCE
    while _SEEN not in driver.execute_script("return document.body.innerText"):
        if time.monotonic() > deadline:
            sys.exit(f"the viewer does not show {_SEEN!r}")
        time.sleep(0.1)
    driver.execute_script("document.activeElement?.blur?.()")
    time.sleep(1.0)  # what moves or loads after the words
    picture: bytes = driver.get_screenshot_as_png()
    return picture


def _write(file: Path, picture: bytes, text: str) -> None:
    """The picture with ``text`` in a chunk iTXt (PNG, 11.3.3.4)."""
    chunk = _KEYWORD + b"\0\0\0\0\0" + text.encode()
    framed = struct.pack(">I", len(chunk)) + b"iTXt" + chunk
    framed += struct.pack(">I", zlib.crc32(b"iTXt" + chunk))
    file.write_bytes(picture[:_HEAD_BYTES] + framed + picture[_HEAD_BYTES:])
    print(f"wrote {file.relative_to(ROOT)}: {file.stat().st_size} bytes")


def said(file: Path) -> str:
    """The text that ``_write`` put into a picture; empty without one."""
    data = file.read_bytes()
    place = _HEAD_BYTES
    (length,) = struct.unpack(">I", data[place : place + 4])
    chunk = data[place + 8 : place + 8 + length]
    if data[place + 4 : place + 8] != b"iTXt" or not chunk.startswith(_KEYWORD):
        return ""
    return chunk[len(_KEYWORD) + 5 :].decode()


if __name__ == "__main__":
    sys.exit(main())
