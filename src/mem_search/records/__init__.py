"""The kinds of record: one file each, and one line each in ``BUILT_IN``.

A package of a third party adds a kind with an entry point of the group ``mem_search.records``
(docs/extending.md). ``registry.installed_kinds`` loads all of them. This module imports nothing,
because the command line reads ``BUILT_IN`` before every search.
"""

BUILT_IN = {
    "observations": "mem_search.records.observation:Observation",
    "sessions": "mem_search.records.session_summary:SessionSummary",
    "prompts": "mem_search.records.user_prompt:UserPrompt",
    "notes": "mem_search.records.note:Note",
    "websites": "mem_search.records.website:Website",
    "files": "mem_search.records.file:File",
    "conversations": "mem_search.records.conversation:Conversation",
    "memories": "mem_search.records.memory:Memory",
    "emails": "mem_search.records.email:Email",
    "reports": "mem_search.records.report:Report",
}
"""Plural of the kind, which is its command and the end of its route → where its class is."""
