"""Limits of time where other programs keep the processors busy."""

from __future__ import annotations

import os


def scale_timeout(seconds: float, *, most: float) -> float:
    """What takes ``seconds`` on a free machine takes at most this many on this one, now.

    Where n processes wait for each processor, everything takes n times as long. The load average
    of the last minute says how many wait; it counts those that wait for a disk, too. A limit that
    forgets this gives up work that goes on. ``most`` bounds the answer, in seconds.
    """
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(seconds * max(1.0, waiting), most)
