"""The stages of the ranking, in their order.

A new stage is a function from state to state in one of the two modules and one line here; what
it needs of the store is ``StageData``, which the line declares as ``reads``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from mem_search.errors import InputError
from mem_search.search.sparse import SPARSE
from mem_search.search.stage_data import (
    COVERED,
    FEEDBACK,
    GUESSED,
    LEANING,
    LIFTED,
    NAMED,
    NEWEST,
    OPENED,
    SKETCHES,
    SORT_VALUES,
    SUCCESSORS,
    WHOLE,
)
from mem_search.search.stages import ordering, relevance, scoring
from mem_search.search.state import Stage

STAGES: Final[tuple[Stage, ...]] = (
    Stage("match", relevance.match),
    Stage("fused", scoring.fuse, required=True),
    Stage("sparse", scoring.sparse, reads=(SPARSE,)),
    Stage("neighbours", scoring.neighbours),
    Stage("session", scoring.session),
    Stage("feedback", scoring.feedback, reads=(FEEDBACK,)),
    Stage("intent-boost", scoring.intent_boost, reads=(LIFTED, LEANING)),
    Stage("time", scoring.named_time, reads=(WHOLE,)),
    Stage(relevance.RELEVANT, relevance.relevant, reads=(WHOLE,)),
    Stage("every-word", scoring.every_word, reads=(WHOLE,)),
    Stage("recency", scoring.recency, option="boosts"),
    Stage("importance", scoring.importance, option="boosts"),
    Stage("opened", scoring.opened, option="boosts", reads=(OPENED,)),
    Stage(relevance.CERTAINTY, relevance.certainty, reads=(COVERED,)),
    Stage("sort", scoring.sort, required=True),
    Stage(ordering.SUPERSESSION, ordering.supersession, reads=(SUCCESSORS,)),
    Stage("identifier-first", ordering.identifier_first, reads=(NAMED,)),
    Stage("folding", ordering.folding, option="fold", reads=(SKETCHES, SUCCESSORS)),
    Stage("kind-diversity", ordering.kind_diversity, reads=(WHOLE,)),
    Stage("in-other-words", relevance.in_other_words, reads=(COVERED, WHOLE)),
    Stage("diversity", ordering.diversity, option="per_session"),
    Stage("typo-demotion", ordering.typo_demotion, reads=(GUESSED,)),
    Stage("further-matches", ordering.further_matches, required=True),
    Stage("filter-matches", ordering.filter_matches, required=True, reads=(NEWEST,)),
    Stage("monotonic-scores", ordering.monotonic_scores, required=True),
    Stage("by-date", ordering.by_date, required=True),
    Stage("by-fields", ordering.by_fields, required=True, option="sort", reads=(SORT_VALUES,)),
    Stage("per-kind", ordering.per_kind, option="limit_per_kind"),
    Stage("no-answer", relevance.no_answer, reads=(COVERED, NAMED)),
)


def inserted(stages: Sequence[Stage], stage: Stage) -> tuple[Stage, ...]:
    """``stages`` with ``stage`` behind the one that it names, else as the last that adds to the
    score, before hits are made of that. Raises ValueError where none is called so.
    """
    names = [each.name for each in stages]
    if stage.after and stage.after not in names:
        raise ValueError(f"there is no stage {stage.after!r} that it could follow")
    place = names.index(stage.after) + 1 if stage.after else names.index("sort")
    return (*stages[:place], stage, *stages[place:])


def stages_without(names: Collection[str]) -> tuple[Stage, ...]:
    """``STAGES`` without ``names``. Raises InputError for an unknown name or a required stage."""
    optional = [stage.name for stage in STAGES if not stage.required]
    if unknown := sorted(set(names) - set(optional)):
        raise InputError(
            f"{unknown[0]!r} is not a ranking stage that can be left out;"
            f" these can: {', '.join(optional)}",
            field="stages",
        )
    return tuple(stage for stage in STAGES if stage.name not in names)
