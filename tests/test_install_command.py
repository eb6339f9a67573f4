"""A message names the command that installs a package where this program looks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from mem_search import install_command as module
from mem_search.install_command import install_command

HERE = quote(sys.executable)


@pytest.mark.parametrize(
    ("pip", "uv", "wanted"),
    [
        (True, True, f"{HERE} -m pip install 'mem-search[ocr]'"),
        (False, True, f"uv pip install 'mem-search[ocr]' --python {HERE}"),
        (False, False, f"{HERE} -m ensurepip && {HERE} -m pip install 'mem-search[ocr]'"),
    ],
)
def test_it_is_run_by_what_the_environment_has(
    monkeypatch: pytest.MonkeyPatch, pip: bool, uv: bool, wanted: str
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: object() if pip else None)
    monkeypatch.setattr(module.shutil, "which", lambda _: "/bin/uv" if uv else None)
    assert install_command("mem-search[ocr]") == wanted


def test_an_environment_of_pipx_is_asked_by_pipx(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command("onnxruntime") == "pipx runpip mem-search install onnxruntime"


def test_options_stand_before_the_package() -> None:
    assert install_command("a==1", "--force-reinstall").endswith("install --force-reinstall a==1")


def test_pip_understands_it() -> None:
    command = f"{install_command('mem-search[ocr]', '--dry-run --no-index')} --help"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
