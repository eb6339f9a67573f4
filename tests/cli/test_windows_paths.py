"""Paths of Windows that are given to a command inside WSL, and elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mem_search.cli.options import absolute
from mem_search.errors import InputError
from mem_search.platform import wsl


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """In the distribution Ubuntu; the result is its wsl.conf, which is not there."""
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    monkeypatch.setattr(wsl, "_SETTINGS", tmp_path / "wsl.conf")
    return tmp_path / "wsl.conf"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (r"C:\Users\ada\notes", "/mnt/c/Users/ada/notes"),
        ("d:/data/", "/mnt/d/data"),
        ("C:", "/mnt/c"),
        ("C:\\", "/mnt/c"),
        (r"\\wsl$\Ubuntu\home\ada", "/home/ada"),
        (r"\\wsl.localhost\ubuntu\home\ada\n", "/home/ada/n"),
        ("//wsl.localhost/Ubuntu", "/"),
        ("/mnt/c/Users", "/mnt/c/Users"),
        ("/home/ada", "/home/ada"),
    ],
)
def test_a_path_of_windows_is_found_inside_it(inside: Path, given: str, path: str) -> None:
    assert wsl.local_path(given) == path
    assert absolute(given) == path


def test_drives_are_where_wsl_puts_them(inside: Path) -> None:
    inside.write_text("[automount]\nroot = /win/\n")
    assert wsl.local_path(r"C:\x") == "/win/c/x"
    inside.write_text("not a settings file")
    assert wsl.local_path(r"C:\x") == "/mnt/c/x"


def test_a_path_of_another_distribution_is_refused_with_its_name(inside: Path) -> None:
    with pytest.raises(InputError, match="in the distribution Debian, and this is Ubuntu"):
        absolute(r"\\wsl$\Debian\home")


def test_elsewhere_a_path_of_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    monkeypatch.setattr(wsl, "is_wsl", lambda: False)
    with pytest.raises(InputError, match="not Windows"):
        absolute(r"C:\Users\ada")


def test_a_file_here_with_such_a_name_is_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / r"c:\notes").write_text("x")
    assert absolute(r"c:\notes") == str(tmp_path / r"c:\notes")
