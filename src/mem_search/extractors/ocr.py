"""Text in pictures (OCR): by the package rapidocr, whose models lie in it, else by tesseract.

Both are optional. A picture is made smaller before it is read, so that a page of 10-point type
stays readable and a large photograph stays within the reader's limits of time and memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from mem_search.extractors.refusal import Unreadable
from mem_search.install_command import install_command
from mem_search.patterns import pattern
from mem_search.platform.memory import set_malloc

ADVICE: Final = f"to read it, run: {install_command('mem-search[ocr]')} (or install tesseract)"

SIDE: Final = 1600
"""Pixels of the longer side of a picture that is read: 10-point type on A4 is 19 pixels high."""

_DETECTED: Final = 960
"""Pixels of the longer side where lines are looked for. With these sizes a page takes about 3 s of
processor time and 270 MB (measured on photographed pages); with the package's own it takes 7 s and
800 MB."""

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 2**20

_TESSERACT_SECONDS: Final = 50
_LANGUAGE: Final = pattern(r"\w{3,12}(?:_\w{1,8})?")
_NO_LANGUAGES: Final = frozenset(("osd", "equ", "snum"))
_MAX_LANGUAGES: Final = 4
_RAPIDOCR_LANGUAGES: Final = "Chinese, English"
"""What the models read that the package brings along."""

Pixels = NDArray[np.uint8]
"""(height, width, 3), blue first."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The text of a picture, and the mean confidence of its lines from 0 to 1.

    ``languages`` are those that are looked for, as whoever reads calls them: ``deu, eng``.
    """

    text: str
    confidence: float
    by: str
    languages: str = ""


class _Recogniser(Protocol):
    def read(self, picture: Path | Pixels, frame: int = 0) -> Recognised: ...


def available() -> bool:
    """Whether pictures can be read. Nothing is loaded."""
    return _wanted and _installed()


def _installed() -> bool:
    return find_spec("rapidocr") is not None or shutil.which("tesseract") is not None


def look_into_pictures(wanted: bool) -> None:
    """Whether this process reads pictures, as far as it can: not for what took too much."""
    global _wanted
    _wanted = wanted


def wanted() -> bool:
    """Whether pictures are looked into, if anything is installed for it."""
    return _wanted


_wanted = True


def lacks() -> str:
    """``ocr`` where a picture is not read because nothing is installed for it; else empty."""
    return "" if _installed() else "ocr"


def why_not() -> str:
    """Why a picture is not read, and what helps, as the end of a sentence."""
    return f"; {ADVICE}" if lacks() else ""


def recognise(picture: Path | Pixels, frame: int = 0) -> Recognised | None:
    """The text of a picture, of a file its ``frame``; None when nothing here could read it.

    Raises Unreadable for a file that is no whole picture, MemoryError for one that is too large.
    """
    recogniser = _recogniser() if _wanted else None
    return None if recogniser is None else recogniser.read(picture, frame)


@cache
def _recogniser() -> _Recogniser | None:
    if find_spec("rapidocr") is not None:
        return _RapidOcr()
    program = shutil.which("tesseract")
    return None if program is None else _Tesseract(program)


class _RapidOcr:
    """https://github.com/RapidAI/RapidOCR: PP-OCR models, one thread, without a memory arena.

    Its models are loaded after the first picture was made smaller, which may need much memory.
    """

    @cached_property
    def _engine(self) -> Any:
        _return_large_blocks()
        from rapidocr import RapidOCR

        engine = "EngineConfig.onnxruntime"
        return RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.max_side_len": SIDE,
                "Det.limit_type": "max",
                "Det.limit_side_len": _DETECTED,
                "Rec.rec_batch_num": 1,
                f"{engine}.intra_op_num_threads": 1,
                f"{engine}.inter_op_num_threads": 1,
                f"{engine}.enable_cpu_mem_arena": False,
            }
        )

    def read(self, picture: Path | Pixels, frame: int = 0) -> Recognised:
        pixels = _decoded(picture, frame) if isinstance(picture, Path) else picture
        try:
            output = self._engine(pixels)
        except Exception as error:
            if "alloc" in str(error).lower() or "insufficient memory" in str(error).lower():
                raise MemoryError from error
            raise
        lines = [] if output.txts is None else list(zip(output.boxes, output.txts, strict=True))
        scores = [] if output.scores is None else output.scores
        return Recognised(_in_lines(lines), _mean(scores), "rapidocr", _RAPIDOCR_LANGUAGES)


def _return_large_blocks() -> None:
    """Let glibc give freed tensors back at once: otherwise what is freed between two lines of text
    is kept in pieces, and a page needs 200 MB more. Other C libraries have no such switch."""
    set_malloc(_M_MMAP_THRESHOLD, _LARGE)


def _decoded(path: Path, frame: int) -> Pixels:
    """The pixels of a picture file, upright and small enough."""
    from PIL import Image, ImageOps

    if find_spec("pillow_heif") is not None:
        import_module("pillow_heif").register_heif_opener()
    try:
        with Image.open(path) as image:
            if frame:
                image.seek(frame)
            # What has two colours, or a table of them, is made smaller by leaving out lines.
            made = {"1": "L", "P": "RGB"}.get(image.mode)
            picture = image.convert(made) if made else image
            picture.thumbnail((SIDE, SIDE))
            upright = ImageOps.exif_transpose(picture).convert("RGB")
    except Image.DecompressionBombError as error:
        raise Unreadable(f"the picture is too large: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable(f"it is damaged or cut off: {error}") from None
    return np.asarray(upright)[:, :, ::-1].copy()


def _in_lines(pieces: Iterable[tuple[Any, str]]) -> str:
    """Pieces from the top down; those on one height are one line, from left to right."""
    lines: list[tuple[float, float, list[tuple[float, str]]]] = []
    for box, text in pieces:
        top, bottom = float(min(y for _, y in box)), float(max(y for _, y in box))
        left = float(min(x for x, _ in box))
        middle, height = (top + bottom) / 2, bottom - top
        if lines and abs(middle - lines[-1][0]) < min(height, lines[-1][1]) / 2:
            lines[-1][2].append((left, text))
        else:
            lines.append((middle, height, [(left, text)]))
    return "\n".join(" ".join(text for _, text in sorted(line)) for _, _, line in lines)


class _Tesseract:
    """The program, with all languages that it has; it has those that a person installed."""

    def __init__(self, program: str) -> None:
        self._program = program
        listed = self._run("--list-langs").stdout.decode("utf-8", "replace").splitlines()
        names = (line.strip() for line in listed)
        usable = [each for each in names if _LANGUAGE.fullmatch(each) and each not in _NO_LANGUAGES]
        # The first one weighs most, and each one costs time.
        usable.sort(key=lambda each: each != "eng")
        self._languages = usable[:_MAX_LANGUAGES]

    def read(self, picture: Path | Pixels, frame: int = 0) -> Recognised:
        given, data = str(picture), b""
        if not isinstance(picture, Path):
            height, width = picture.shape[:2]
            head = b"P6 %d %d 255\n" % (width, height)
            given, data = "stdin", head + picture[:, :, ::-1].tobytes()
        options = ["-l", "+".join(self._languages)] if self._languages else []
        options += ["-c", f"tessedit_page_number={frame}"] if given != "stdin" else []
        try:
            done = self._run(given, "stdout", *options, "tsv", data=data)
        except subprocess.TimeoutExpired:
            raise Unreadable(f"tesseract did not read it in {_TESSERACT_SECONDS} seconds") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = said[-1][:200] if said else "it gives no reason"
            raise Unreadable(f"it is damaged, or tesseract cannot read it: {reason}")
        recognised = _of_table(done.stdout.decode("utf-8", "replace"))
        return replace(recognised, languages=", ".join(self._languages))

    def _run(self, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603  the program that the person installed
            [self._program, *arguments],
            input=data,
            capture_output=True,
            timeout=_TESSERACT_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            check=False,
        )


def _of_table(table: str) -> Recognised:
    """Tesseract's table of words: block, paragraph and line of each, its confidence, its text."""
    lines: dict[tuple[str, ...], list[str]] = {}
    scores: list[float] = []
    for row in table.splitlines()[1:]:
        cells = row.split("\t", 11)
        if len(cells) == 12 and cells[11].strip():
            lines.setdefault(tuple(cells[1:5]), []).append(cells[11].strip())
            scores.append(float(cells[10]) / 100)
    return Recognised("\n".join(map(" ".join, lines.values())), _mean(scores), "tesseract")


def _mean(scores: Sequence[float]) -> float:
    return round(sum(map(float, scores)) / len(scores), 2) if len(scores) else 0.0
