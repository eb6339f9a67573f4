"""The documents as a site with search, built without a network; a broken link ends the build.

Sphinx reads Markdown by MyST. MkDocs has had no release since August 2024, its theme Material ends
in May 2027, and Zensical, which follows it, is before 1.0. The documents stay as forges show them:
they are copied, and in the copy a link to a folder leads to its README, and the README is the first
page.
"""

from __future__ import annotations

import re
import shutil
import warnings
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from checkout import ROOT, documents

SECTIONS: Final = {
    "Begin": "README getting-started cookbook guide faq comparison",
    "Agents": "agents/README agents/*",
    "Use": "query-language metadata hybrid-search suggestions citations graph deep-research",
    "Reference": "reference/README reference/*",
    "Connect": "mcp api webhooks contracts/README contracts/*",
    "Run": "operations security performance scale",
    "How it works": "architecture retrieval extending",
    "Reasons": "adr/README adr/* lab/README lab/*",
}
"""The pages of docs/ in their order; a page that is missing here is an error of the build."""

_LINK: Final = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_FENCE: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_HIDDEN: Final = ("AGENTS", "CHANGELOG", "plugin/skills/mem-search/SKILL")

_SETTINGS: Final = {
    "project": "mem-search",
    "extensions": ["myst_parser"],
    "root_doc": "index",
    "html_theme": "furo",
    "html_title": "mem-search",
    "html_copy_source": False,
    "html_permalinks_icon": "#",
    "html_theme_options": {"navigation_with_keys": True},
    "myst_heading_anchors": 4,
    "nitpicky": True,
    # Examples are cut short, so they are not always whole JSON.
    "suppress_warnings": ["misc.highlighting_failure"],
}


def build(target: Path, root: Path = ROOT) -> list[str]:
    """Write the site of the documents below ``root`` into ``target``; returns what is wrong.

    A page and its assets load nothing from another host.
    """
    from pygments.lexers.special import TextLexer
    from sphinx.application import Sphinx
    from sphinx.highlighting import lexers
    from sphinx.util.console import nocolor

    nocolor()
    lexers["mermaid"] = TextLexer()  # shown as text: its program would be bigger than the site
    wrong = StringIO()
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the packages say of each other
        copied = Path(folder) / "documents"
        _copy(root, copied)
        Sphinx(
            str(copied), None, str(target), str(Path(folder) / "parsed"), "html",
            confoverrides=_SETTINGS, status=None, warning=wrong,
        ).build()  # fmt: skip
        said = wrong.getvalue().replace(f"{copied}/", "")
    return said.splitlines()


def _copy(root: Path, copied: Path) -> None:
    """The documents, and what they link to."""
    for file in documents(root):
        name = file.relative_to(root)
        text = file.read_text("utf-8")
        for link in _links(text):
            _bring(root, copied, (file.parent / link).resolve())
        parts = _FENCE.split(text)
        led = partial(_led, file, root)
        parts[::2] = [_LINK.sub(led, each) for each in parts[::2]]
        _write(copied / name, "".join(parts))
    first = (copied / "README.md").read_text("utf-8")
    (copied / "README.md").unlink()
    _write(copied / "index.md", first + _contents())


def _links(text: str) -> list[str]:
    found = (link[2] for part in _FENCE.split(text)[::2] for link in _LINK.finditer(part))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def _bring(root: Path, copied: Path, target: Path) -> None:
    """Copy what is linked and is no document: a script, a licence, the description of the API."""
    if target.is_file() and target.suffix != ".md" and target.is_relative_to(root):
        place = copied / target.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, place)


def _led(file: Path, root: Path, link: re.Match[str]) -> str:
    before, path, anchor, after = link.groups(default="")
    target = (file.parent / path).resolve()
    if target == root / "README.md":
        path = path.replace("README.md", "index.md")
    elif target.is_dir():
        path = f"{path.rstrip('/')}/README.md"
    return f"{before}{path}{anchor}{after}"


def _contents() -> str:
    """The contents for the side of each page, which the first page itself does not show."""
    blocks = []
    for caption, pages in SECTIONS.items():
        names = "\n".join(f"docs/{page}" for page in pages.split())
        blocks.append(f"```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{names}\n```")
    others = "\n".join(_HIDDEN)
    blocks.append(f"```{{toctree}}\n:hidden:\n:caption: The project\n\n{others}\n```")
    return "\n\n" + "\n\n".join(blocks) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
