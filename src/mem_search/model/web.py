"""What a web search found beside the records of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WebState = Literal["ok", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result: texts on one line, without markup. ``published`` is as the provider writes it."""

    url: str
    title: str
    snippet: str = ""
    published: str = ""
    caution: bool = False
    """Whether it reads like instructions to an agent."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """``detail`` says why there is nothing, or what was left out. ``query`` is what was sent."""

    provider: str
    state: WebState = "ok"
    detail: str = ""
    query: str = ""
    results: tuple[WebResult, ...] = ()
    took_ms: float = 0.0

    @property
    def notice(self) -> str:
        """``state`` and ``detail`` in words; "" where all went well."""
        if self.state == "ok":
            return self.detail and f"the web search left something out: {self.detail}"
        did = "sent nothing" if self.state == "refused" else "gave nothing"
        return f"the web search {did}: {self.detail}"
