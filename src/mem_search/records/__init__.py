"""The kinds of record: one file each, and one line each in ``BUILT_IN``.

A package of a third party adds a kind with an entry point of the group ``mem_search.records``
(docs/extending.md). ``registry.installed_kinds`` loads all of them. This module imports next
to nothing, because the command line reads ``BUILT_IN`` before every search and for every help text.
"""

from collections import ChainMap

BUILT_IN = {
    "observations": ("mem_search.records.observation:Observation", "what agents did and learned"),
    "sessions": (
        "mem_search.records.session_summary:SessionSummary",
        "summaries of coding sessions",
    ),
    "prompts": ("mem_search.records.user_prompt:UserPrompt", "what people asked agents to do"),
    "notes": ("mem_search.records.note:Note", "notes"),
    "websites": ("mem_search.records.website:Website", "web pages"),
    "files": ("mem_search.records.file:File", "files"),
    "conversations": ("mem_search.records.conversation:Conversation", "conversations"),
    "memories": ("mem_search.records.memory:Memory", "memories"),
    "emails": ("mem_search.records.email:Email", "e-mails"),
    "reports": ("mem_search.records.report:Report", "research reports"),
}
"""Plural of the kind, which is its command and the end of its route → its class, what it holds."""

VARIETIES = {
    "commits": ("mem_search.records.observation:Commit", "commits of git repositories"),
}
"""The same for what people call a kind of its own (``model.records.VARIETIES``)."""

SEARCHED = ChainMap(BUILT_IN, VARIETIES)
"""All that has a command and a route that searches it."""

ENTRY_POINTS = "mem_search.records"
"""The group in which third parties name the class of a kind by the plural of the kind."""
