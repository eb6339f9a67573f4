"""Times that a clock left in the future which was ahead once, for every store.

Such a time holds whatever waits for it: a caller at its limit, the next run of a search, a message.
So at a start, and when the clock is set back, times that cannot be are put back. What only says
when something happened, and how long it is kept, stays: a clock that is wrong now must delete
nothing.
"""

from __future__ import annotations

from typing import Final

SKEW_MS: Final = 60_000
"""Clocks of the workers of one store may differ by so much."""

MAX_PAUSE_MS: Final = 8 * 3_600_000
"""More than the longest pause before a message is sent again (``features.webhooks``)."""

MAX_LINK_SECONDS: Final = 120
"""Seconds that a link which logs a browser in may be used (``http.access.browser_sessions``)."""

_DAY_MS: Final = 86_400_000

STATEMENTS: Final = (
    f"delete from granted_requests where at > {{now}} + {SKEW_MS}",
    f"delete from login_links where ends > {{now}} / 1000 + {MAX_LINK_SECONDS + SKEW_MS // 1000}",
    # Found once more at most: what was told is known.
    f"update saved_searches set since = {{now}} - {_DAY_MS} where since > {{now}} + {SKEW_MS}",
    "update webhook_deliveries set next_at = {now} where state = 'pending'"
    f" and next_at > {{now}} + {MAX_PAUSE_MS}",
    # In their order, and before those that come now.
    "update jobs set created_at = {now} - 1 - (select count(*) from jobs j where"
    " j.state in ('queued', 'running') and j.created_at > jobs.created_at)"
    f" where state in ('queued', 'running') and created_at > {{now}} + {SKEW_MS}",
    # A token lasts as long as it was given for.
    "update tokens set expires_at = {now} + expires_at - created_at, created_at = {now}"
    f" where created_at > {{now}} + {SKEW_MS}",
    f"update tokens set last_used_at = {{now}} where last_used_at > {{now}} + {SKEW_MS}",
    f"update cursors set read_at = {{now}} where read_at > {{now}} + {SKEW_MS}",
    f"update ledger set at = {{now}} where at > {{now}} + {SKEW_MS}",
    f"update openings set at = {{now}} where at > {{now}} + {SKEW_MS}",
    f"update clicks set at = {{now}} where at > {{now}} + {SKEW_MS}",
    f"update search_log set at = {{now}} where at > {{now}} + {SKEW_MS}",
    f"update tombstones set forgotten_at = {{now}} where forgotten_at > {{now}} + {SKEW_MS}",
    f"update forget_receipts set begun_at = {{now}} where begun_at > {{now}} + {SKEW_MS}",
)
"""``{now}`` is the place of the time in milliseconds since 1970."""
