r"""Paths of Windows that somebody gives inside the Windows Subsystem for Linux.

``C:\Users\ada`` is ``/mnt/c/Users/ada`` there, and ``\\wsl.localhost\Ubuntu\home\ada`` or
``\\wsl$\…`` is ``/home/ada`` (learn.microsoft.com/windows/wsl/filesystems). A terminal of Linux
takes a backslash as an escape, so slashes are understood as well.
"""

from __future__ import annotations

import os
import re
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Final

_DRIVE: Final = r"([A-Za-z]):(?:[\\/](.*)|\Z)"
_SHARE: Final = r"(?i)[\\/]{2}(?:wsl\$|wsl\.localhost)[\\/]([^\\/]+)[\\/]?(.*)"
_SETTINGS: Final = Path("/etc/wsl.conf")


def is_wsl() -> bool:
    """Whether this is a Linux inside Windows; its distribution has a name there."""
    return bool(os.environ.get("WSL_DISTRO_NAME")) or "microsoft" in os.uname().release.lower()


def local_path(path: str) -> str:
    """``path`` as this system has it; one that is no path of Windows stays.

    Raises ValueError, with what is wrong, for a path of Windows that is not here.
    """
    drive, share = re.fullmatch(_DRIVE, path), re.fullmatch(_SHARE, path)
    if not (drive or share) or os.path.lexists(path):  # a name may have a backslash here
        return path
    if not is_wsl():
        raise ValueError("is a path of Windows, and this is not Windows")
    if drive:
        return _joined(f"{_mounted().rstrip('/')}/{drive[1].lower()}", drive[2] or "")
    assert share is not None
    own = os.environ.get("WSL_DISTRO_NAME", "")
    if own and share[1].lower() != own.lower():
        raise ValueError(f"is in the distribution {share[1]}, and this is {own}; run it there")
    return _joined("", share[2])


def _joined(root: str, rest: str) -> str:
    below = rest.replace("\\", "/").strip("/")
    return f"{root}/{below}" if below or not root else root


def _mounted() -> str:
    """Below which folder drives are: ``/mnt``, unless wsl.conf says otherwise."""
    settings = ConfigParser(strict=False, interpolation=None)
    try:
        settings.read(_SETTINGS, "utf-8")
    except (OSError, UnicodeError, Error):  # not one that WSL reads either
        return "/mnt"
    return settings.get("automount", "root", fallback="/mnt")
