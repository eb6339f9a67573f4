"""When something is repeated: an interval, such as ``1h``, or a cron expression (cronsim).

Both are stored as one text, a *schedule*; "" is never. Cron expressions are in the time of the
machine.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from cronsim import CronSim, CronSimError
from dateutil.tz import gettz, tzlocal

from mem_search.errors import InputError
from mem_search.patterns import pattern

MIN_INTERVAL_SECONDS: Final = 60
MAX_INTERVAL_SECONDS: Final = 366 * 86_400
_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WORDS: Final = {"hourly": 3_600, "daily": 86_400, "weekly": 604_800}
_WRITTEN: Final = pattern(r"([0-9]{1,9})\s?([smhdw])")
_CRON_FIELDS: Final = 5
"""With a sixth, of seconds, something would run more often than each ``MIN_INTERVAL_SECONDS``."""

_HOUR_MS: Final = 3_600_000


def seconds(text: str) -> int:
    """The interval in seconds. Raises InputError naming ``every``."""
    word = text.strip().lower()
    match = _WRITTEN.fullmatch(word)
    interval = _WORDS.get(word) or (int(match[1]) * _UNITS[match[2]] if match else 0)
    if not MIN_INTERVAL_SECONDS <= interval <= MAX_INTERVAL_SECONDS:
        raise InputError(
            f"{text[:40]!r} is not an interval between a minute and a year;"
            " write 15m, 1h, 2d or 1w",
            field="every",
        )
    return interval


def written(interval: int) -> str:
    """The interval as text: ``seconds(written(n)) == n``."""
    unit = next(name for name, size in _UNITS.items() if interval % size == 0)
    return f"{interval // _UNITS[unit]}{unit}"


def schedule_of(every: str | None, cron: str | None) -> str:
    """The schedule that an interval or a cron expression says; "" without either.

    Raises InputError naming ``every`` or ``schedule``.
    """
    if every and cron:
        raise InputError(
            "give every, an interval, or schedule, a cron expression; not both", field="every"
        )
    if every:
        return written(seconds(every))
    if not cron:
        return ""
    if len(cron.split()) != _CRON_FIELDS:
        raise _refused(cron, "it has five fields")
    next_run(cron, 0)
    return cron


def parts(schedule: str) -> tuple[str | None, str | None]:
    """The interval and the cron expression of a schedule; one of them, or none, is there."""
    if not schedule:
        return None, None
    if _WRITTEN.fullmatch(schedule):
        return written(seconds(schedule)), None
    return None, schedule


def next_run(schedule: str, after: int) -> int:
    """The next time of a schedule after ``after``, both in ms since 1970.

    Raises InputError naming ``schedule``.
    """
    if _WRITTEN.fullmatch(schedule):
        return after + 1000 * seconds(schedule)
    zone = gettz() or tzlocal()
    try:
        moment = next(CronSim(schedule, datetime.fromtimestamp(after / 1000, zone)))
    except (CronSimError, StopIteration) as error:
        raise _refused(schedule, str(error) or "it never comes") from None
    return round(moment.timestamp() * 1000)


def _refused(cron: str, why: str) -> InputError:
    return InputError(
        f"{cron[:80]!r} is not a cron expression ({why}); write minute, hour, day, month"
        " and day of the week, such as 0 4 * * *",
        field="schedule",
    )


def runs_an_hour(schedule: str, now: int) -> float:
    """How often a schedule runs in an hour in which it does; ``now`` is in ms since 1970."""
    every, cron = parts(schedule)
    if every:
        return 3600 / seconds(every)
    if not cron:
        return 0.0
    # The minutes are the same in every hour, so those of one hour that has any are counted.
    began = next_run(cron, now) // _HOUR_MS * _HOUR_MS
    count, at = 0, next_run(cron, began - 1000)
    while at < began + _HOUR_MS:
        count, at = count + 1, next_run(cron, at)
    return float(count)
