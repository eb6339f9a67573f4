"""Word documents and presentations of before 2007 (``.doc``, ``.ppt``), by an installed program.

LibreOffice makes a new file of one, which our reader reads. Without it, what Word 97 and later
wrote is read here, the rest by antiword, catdoc and catppt. Old workbooks are read by ``sheet``.
"""

from __future__ import annotations

import os
import resource
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from mem_search.extractors import compound
from mem_search.extractors.docx import Docx
from mem_search.extractors.pptx import Pptx
from mem_search.extractors.refusal import OLE, Unreadable, reason_for
from mem_search.model.ingest import Extracted
from mem_search.platform import IS_MACOS

_SECONDS: Final = 50
"""By the clock, less than the reader's processor time: the program may wait for something."""

_MEGABYTES: Final = 1500
"""Memory of LibreOffice, which needs more than our readers have."""

_LOOKED_AT: Final = 4 * 2**20


class _Form(NamedTuple):
    what: str
    stream: bytes
    """The name of the stream that only such a file has."""
    newer: str
    reader: type[Docx] | type[Pptx]
    commands: tuple[tuple[str, ...], ...]
    package: str


_FORMS: Final = (
    _Form("an old Word document (.doc)", "WordDocument".encode("utf-16-le"), "docx", Docx,
          (("antiword", "-m", "UTF-8.txt", "-w", "0"),
           ("catdoc", "-d", "utf-8", "-w")), "antiword"),
    _Form("an old presentation (.ppt)", "PowerPoint Document".encode("utf-16-le"), "pptx", Pptx,
          (("catppt", "-d", "utf-8"),), "catdoc"),
)  # fmt: skip


class OldOffice:
    """Refuses with the command that installs a program where there is none."""

    name = "oldoffice"
    suffixes = (".doc", ".dot", ".ppt", ".pps")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.startswith(OLE) and suffix != ".msg" and _form(path) is not None

    def extract(self, path: Path, name: str) -> Extracted:
        form = _form(path)
        assert form is not None
        encrypted = reason_for(OLE, path, "")
        if "encrypted" in encrypted:
            raise Unreadable(encrypted)
        if office := shutil.which("soffice") or shutil.which("libreoffice"):
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder, f"document.{form.newer[:3]}")
                shutil.copyfile(path, place)
                _run([office, f"-env:UserInstallation={Path(folder, 'profile').as_uri()}",
                      "--headless", "--norestore", "--convert-to", form.newer, "--outdir", folder,
                      str(place)])  # fmt: skip
                made = place.with_suffix(f".{form.newer}")
                if not made.is_file():
                    raise Unreadable("it is damaged: LibreOffice cannot open it")
                return form.reader().extract(made, name)
        refused = ""
        if form.reader is Docx and (text := _word(path)) is not None:
            return _with_files(path, text)
        for program, *options in form.commands:
            if executable := shutil.which(program):
                try:
                    text = _run([executable, *options, str(path.absolute())])
                except Unreadable as error:
                    refused = refused or error.reason
                    continue
                return _with_files(path, "\n".join(map(str.rstrip, text.strip().splitlines())))
        raise Unreadable(
            refused
            or f"it is {form.what}, which another program has to open: {_advice(form.package)};"
            " then: mem-search sync --again; or save it as a new file"
        )


def _word(path: Path) -> str | None:
    """The text of a Word document of 1997 or later; None where it cannot be had so."""
    with compound.opened(path) as box:
        try:
            return compound.word_text(box) if box is not None else None
        except (OSError, struct.error):
            return None


def _with_files(path: Path, text: str) -> Extracted:
    """What a program wrote, with the files inside and what the document says of itself."""
    with compound.opened(path) as box:
        if box is None:
            return Extracted(text)
        files, properties = compound.files_in(box), compound.described(box)
    text = "\n\n".join(filter(None, (text, *files.texts)))
    return Extracted(text, unread=files.unread, lacks=files.lacks, **properties)


def _form(path: Path) -> _Form | None:
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        end = file.read()
    return next((form for form in _FORMS if form.stream in start or form.stream in end), None)


def _advice(package: str) -> str:
    """The command for this system."""
    if IS_MACOS:
        return "brew install --cask libreoffice"
    for manager, command in (("apt-get", "sudo apt-get install"), ("dnf", "sudo dnf install"),
                             ("pacman", "sudo pacman -S"), ("zypper", "sudo zypper install"),
                             ("apk", "sudo apk add")):  # fmt: skip
        if shutil.which(manager):
            return f"{command} {package}"
    return f"install LibreOffice or {package}"


def _run(command: list[str]) -> str:
    """What a program writes. Raises Unreadable."""
    limits: Callable[[], None] = lambda: resource.setrlimit(  # noqa: E731
        resource.RLIMIT_DATA, (_MEGABYTES * 2**20, resource.getrlimit(resource.RLIMIT_DATA)[1])
    )
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603  a program of the person's, with our arguments
            command, capture_output=True, timeout=_SECONDS, check=False, preexec_fn=limits,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{name} needs more than {_SECONDS} seconds for it") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise Unreadable(f"{name} cannot be run: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:200]
        raise Unreadable(f"it is damaged, or no file for {name}: {said or done.returncode}")
    return done.stdout.decode("utf-8", "replace")
