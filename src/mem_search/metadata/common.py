"""What documents of every type may state, and how values are checked (seed schema of documents).

A model says what people and programs may give (``document`` says); the same fields hold what rules
find in a text (``extraction``) and what a language model says (``enrichment``).
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from mem_search.patterns import pattern

MAX_VALUE_CHARS: Final = 1000
"""Characters of one value; a longer one is a text, and belongs into the text."""
MAX_VALUES: Final = 100
"""Values of one field."""

_DAY: Final = pattern(r"\d{4}-\d\d-\d\d")
_CODE: Final = pattern(r"[A-Z]{3}")


def _day(text: str) -> str:
    """A day, or a day with a time, in ISO 8601."""
    try:
        if _DAY.fullmatch(text):
            date.fromisoformat(text)
        elif _DAY.match(text):
            datetime.fromisoformat(text)
        else:
            raise ValueError
    except ValueError:
        raise PydanticCustomError(
            "value", "is no date; write 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None
    return text


def _currency(text: str) -> str:
    """A code of ISO 4217 in capitals."""
    if not _CODE.fullmatch(text):
        raise PydanticCustomError("value", "is no code of a currency; write EUR")
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(max_length=MAX_VALUE_CHARS)]
Day = Annotated[str, AfterValidator(_day)]
"""ISO 8601: ``2026-01-31``."""
Money = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
"""In the unit of the currency, not in cents."""
Currency = Annotated[str, AfterValidator(_currency)]
"""ISO 4217: ``EUR``."""
Texts = Annotated[
    Annotated[list[Text], Field(max_length=MAX_VALUES)],
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
]
"""One text, or a list of them."""


class DocumentMetadata(BaseModel):
    """The common fields; unknown ones are kept unchanged.

    ``type_name`` is what ``source_type`` and ``document_type`` call it, ``also`` other names.
    ``is_content``: the type says what a document is (an invoice) rather than its form (a PDF).
    ``headings`` are words in a title or heading by which a document is recognised, and
    ``evidence`` are fields of which the text must then state one.
    """

    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True, strict=True)

    type_name: ClassVar[str] = ""
    also: ClassVar[tuple[str, ...]] = ()
    is_content: ClassVar[bool] = False
    headings: ClassVar[tuple[str, ...]] = ()
    evidence: ClassVar[tuple[str, ...]] = ()

    document_type: Text | None = None
    document_date: Day | None = None
    sender: Texts | None = None
    recipients: Texts | None = None
    event_name: Text | None = None
    event_date: Day | None = None
    location: Text | dict[str, Any] | None = None
    vendor: Text | None = None
    amount: Money | None = None
    currency: Currency | None = None
    due_date: Day | None = None
    category: Text | None = None
    tags: Texts | None = None
    organisations: Texts | None = None
    addresses: Texts | None = None
    phones: Texts | None = None
    urls: Texts | None = None
