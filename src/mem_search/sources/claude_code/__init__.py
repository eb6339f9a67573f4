"""The ``claude-code`` source: transcripts of Claude Code become prompts, work and summaries.

``source`` walks the files, ``following`` reads each from where it was left, ``lines`` turns a
line into events, ``transcript`` folds events into drafts (``turn``, ``session``). Only what a
person or the agent said and did is taken; what was injected into the conversation is not.
"""

from mem_search.sources.claude_code.source import ClaudeCode

__all__ = ["ClaudeCode"]
