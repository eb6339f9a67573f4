"""Whether a folder is on a disk on which SQLite can keep a store.

SQLite relies on locks of byte ranges and, for its write-ahead log, on memory that processes share;
network file systems give neither reliably, and a store on them is damaged sooner or later
(sqlite.org/wal.html, sqlite.org/lockingv3.html#how_to_corrupt). Both are tried, and the type of the
file system is asked, because a lock that works for one machine may not hold for two.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psutil

from mem_search.platform import IS_LINUX

_NETWORK: Final = frozenset(
    "9p afpfs afs beegfs ceph cifs coda davfs drvfs fuse.afpfs fuse.ceph fuse.cephfs fuse.curlftpfs"
    " fuse.davfs2 fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.grpcfuse fuse.juicefs fuse.mount-s3"
    " fuse.osxfs fuse.rclone fuse.s3fs fuse.seaweedfs fuse.smbnetfs fuse.sshfs fuseblk.sshfs"
    " glusterfs gpfs lustre ncpfs nfs nfs4 orangefs prl_fs smb smb2 smb3 smbfs sshfs vboxsf"
    " vmhgfs webdav".split()
)
"""Types of file systems, as the system names them. Those that virtual machines share with their
host (``9p`` of WSL below ``/mnt``, ``vboxsf``, ``prl_fs``) are among them: locks end at the border.
"""


def type_at(folder: str, mounts: Iterable[tuple[str, str]] | None = None) -> str:
    """The type of the file system that ``folder`` is on; "" where it is not known.

    ``mounts`` are (place, type), in the order in which they were mounted: those of the machine.
    """
    if mounts is None:
        try:
            mounts = [(each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True)]
        except (OSError, psutil.Error):  # no list of mounts in this place, as without /proc
            return ""
    file_system, length = "", -1
    for place, kind in mounts:
        below = folder == place or folder.startswith(f"{place.rstrip('/')}/")
        if below and len(place) >= length:  # of two at one place, the later one covers the other
            file_system, length = kind, len(place)
    return file_system


def is_network(kind: str) -> bool:
    """Whether a type of file system has its files on another machine."""
    return kind.lower() in _NETWORK


def fault_of_locks(folder: str) -> str:
    """Why a store cannot be in ``folder``, by trying what SQLite needs; "" where nothing is wrong.

    Raises OSError where no file can be written there.
    """
    with tempfile.TemporaryFile(dir=folder, prefix=".lock-trial-") as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return f"a file there cannot be locked ({error.strerror})"
        fcntl.lockf(file, fcntl.LOCK_UN)
        if IS_LINUX and not _excludes(file.fileno()):
            return "a lock there does not keep another program out"
        try:
            with mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED) as shared:
                shared[0] = 1
        except OSError as error:
            return f"programs cannot share memory there ({error.strerror})"
    return ""


def _excludes(handle: int) -> bool:
    """Whether a lock of one open file keeps another one from it (fcntl(2), ``F_OFD_SETLK``)."""
    import struct

    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        other = os.open(f"/proc/self/fd/{handle}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # without /proc the trial by one handle has to be enough
        return True
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, whole)
        with suppress(BlockingIOError, PermissionError):
            fcntl.fcntl(other, fcntl.F_OFD_SETLK, whole)
            return False
    except OSError:  # of a file system that knows these locks not at all, SQLite uses others
        return True
    finally:
        os.close(other)
    return True
