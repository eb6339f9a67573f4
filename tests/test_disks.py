"""A home on a network disk is refused with the reason, by the type of the disk and by a trial."""

from __future__ import annotations

import fcntl
import mmap
from pathlib import Path
from typing import Any

import pytest

from homes import Home, quick
from mem_search.daemon.run import refuse_network_disk
from mem_search.errors import StorageError
from mem_search.platform import disks
from patience import PATIENCE
from runtimes import small

MOUNTS = [
    ("/", "ext4"),
    ("/mnt/c", "9p"),
    ("/srv", "nfs4"),
    ("/srv/local", "xfs"),
    ("/home/ada", "fuse.sshfs"),
    ("/over", "ext4"),
    ("/over", "cifs"),
]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/home", "ext4"),
        ("/srv/mem", "nfs4"),
        ("/srv/local/mem", "xfs"),
        ("/srvx", "ext4"),
        ("/mnt/c/Users/ada", "9p"),
        ("/home/ada", "fuse.sshfs"),
        ("/over/mem", "cifs"),
    ],
)
def test_the_innermost_and_last_mount_says_the_type(folder: str, kind: str) -> None:
    assert disks.type_at(folder, MOUNTS) == kind
    assert disks.is_network(kind) == (kind not in ("ext4", "xfs"))


def test_this_disk_has_a_type_and_its_locks_work(tmp_path: Path) -> None:
    assert disks.type_at(str(tmp_path)) or not disks.IS_LINUX
    assert disks.fault_of_locks(str(tmp_path)) == ""
    assert not [*tmp_path.iterdir()]


def test_a_disk_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refused)
    assert "cannot be locked (No locks available)" in disks.fault_of_locks(str(tmp_path))


@pytest.mark.skipif(not disks.IS_LINUX, reason="only Linux is asked by a second handle")
def test_a_disk_whose_locks_keep_nobody_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fcntl.fcntl

    def granted(handle: int, command: int, given: Any = 0) -> Any:
        return given if command == fcntl.F_OFD_SETLK else own(handle, command, given)

    monkeypatch.setattr(fcntl, "fcntl", granted)
    assert "does not keep another program out" in disks.fault_of_locks(str(tmp_path))


def test_a_disk_without_shared_memory_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", refused)
    assert "cannot share memory there" in disks.fault_of_locks(str(tmp_path))


def test_a_network_disk_is_refused_with_what_to_do_unless_somebody_knows_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "type_at", lambda _: "nfs4")
    with pytest.raises(StorageError) as refused:
        refuse_network_disk(small(tmp_path / "home"))
    for each in ("nfs4", "local disk", "mem-search mirror", "MEM_SEARCH_NETWORK_DISK=1"):
        assert each in refused.value.message
    refuse_network_disk(small(tmp_path / "home", network_disk=True))


@pytest.mark.worker
def test_a_worker_without_a_folder_for_temporary_files_uses_its_home(tmp_path: Path) -> None:
    home: Home = quick(tmp_path)
    program = (
        "import tempfile, runpy, sys; tempfile._candidate_tempdir_list = lambda: ['/proc/none'];"
        "sys.argv = ['mem-search', 'doctor'];"
        "runpy.run_module('mem_search', run_name='__main__')"
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", program], env=home.environ, capture_output=True, text=True,
        check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert "No usable temporary directory" not in done.stdout + done.stderr
    home.end()
