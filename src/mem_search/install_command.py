"""The command that adds a package to the environment in which this program runs."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote


def install_command(package: str, options: str = "") -> str:
    """For a shell. ``package`` is a requirement such as ``mem-search[ocr]``; options are pip's.

    Another ``python`` on the PATH would install it where we do not look, and the environments of uv
    and pipx have no pip of their own.
    """
    wanted = " ".join(filter(None, ("install", options, quote(package))))
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"pipx runpip mem-search {wanted}"
    if find_spec("pip") is not None:
        return f"{quote(sys.executable)} -m pip {wanted}"
    if shutil.which("uv"):
        return f"uv pip {wanted} --python {quote(sys.executable)}"
    return f"{quote(sys.executable)} -m ensurepip && {quote(sys.executable)} -m pip {wanted}"
