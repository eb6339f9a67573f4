"""Processes: when they began, whether they work, and how a child ends with its parent.

On Linux ``/proc`` is read here: a search from the command line looks at the worker's process, and
importing psutil takes longer (9 ms) than the whole search may. Elsewhere psutil answers.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mem_search.platform import IS_LINUX

if TYPE_CHECKING:
    import psutil

_PR_SET_PDEATHSIG = 1
_STATES = {"running": "R", "sleeping": "S", "idle": "S", "disk-sleep": "D", "stopped": "T"}


def process_start(pid: int) -> str:
    """When a process began, in the words of the system; empty when there is none."""
    if IS_LINUX:
        fields = _stat(pid)
        return fields[19] if fields else ""
    process = _process(pid)
    return "" if process is None else f"{process.create_time():.3f}"


def process_work(pid: int) -> tuple[str, str]:
    """The state letter of a process (``R``, ``S``, ``D``, ``T``) and its processor time so far.

    Both are empty when there is none. The time is only to be compared: it grows while it works.
    """
    if IS_LINUX:
        fields = _stat(pid)
        return (fields[0], f"{fields[11]} {fields[12]}") if fields else ("", "")
    import psutil

    try:
        process = psutil.Process(pid)
        spent = process.cpu_times()
        return _STATES.get(process.status(), "S"), f"{spent.user} {spent.system}"
    except psutil.Error:
        return "", ""


def processor_seconds(pid: int) -> float:
    """What the process and its children have used; 0 when there is none."""
    if IS_LINUX:
        fields = _stat(pid)
        if not fields:
            return 0.0
        used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return used
        return used + sum(processor_seconds(int(child)) for child in children)
    import psutil

    used = 0.0
    try:
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            times = each.cpu_times()
            used += times.user + times.system
    except psutil.Error:  # it has ended, or a child did meanwhile
        return used
    return used


def command_line(pid: int) -> str:
    """The command line of a process, separated by spaces; empty without such a process."""
    import psutil

    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def boot() -> str:
    """The name of this run of the machine, new with each start; empty where there is none."""
    if IS_LINUX:
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        except OSError:
            return ""
    import psutil

    return f"{psutil.boot_time():.0f}"


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity") and IS_LINUX:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that programs can take before the system moves others out."""
    import psutil

    return int(psutil.virtual_memory().available)


def end_with_parent(parent: int, sign: signal.Signals = signal.SIGKILL) -> None:
    """Let this process end when ``parent``, which started it, has ended. Call it before any thread.

    Linux sends ``sign``. Elsewhere the standard input tells, which has to be a pipe that the
    parent holds: a process of its own waits for its end and sends ``sign``. A thread could not:
    Chroma, or a regular expression over a long text, never lets it run.
    """
    if IS_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, sign, 0, 0, 0)
    elif _is_pipe(0):
        _watch_input(sign)
    # The parent may have ended before the request above: then no signal would come.
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")


def _watch_input(sign: signal.Signals) -> None:
    own = os.getpid()
    ends, held = os.pipe()  # ``held`` is closed when this process has ended
    if os.fork():
        os.close(ends)
        return
    try:
        # Who waits for the end of what this process writes is not to wait for the watching one.
        for handle in (held, 1, 2):
            os.close(handle)
        poll = select.poll()
        for handle in (0, ends):
            poll.register(handle, 0)  # only the end of a pipe, not what comes through it
        while not (ended := {handle for handle, event in poll.poll() if event & select.POLLHUP}):
            pass
        if ends not in ended:
            os.kill(own, sign)
    finally:
        os._exit(0)


def _is_pipe(handle: int) -> bool:
    import stat

    try:
        return stat.S_ISFIFO(os.fstat(handle).st_mode)
    except OSError:
        return False


def _stat(pid: int) -> list[str]:
    """The fields of proc(5) behind the name of the program; none without the process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name, in brackets, may contain anything


def _process(pid: int) -> psutil.Process | None:
    import psutil

    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None
