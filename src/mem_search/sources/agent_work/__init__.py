"""From what happens in a session of an agent to its records: prompts, steps of work, a summary.

``events`` is what the source of an agent yields, ``drafts`` turns it into drafts with the help of
``step``, ``session``, ``tools`` and ``evidence``. ``transcripts`` is the base of sources whose
agent writes a file for each session; ``claude_code`` reads its own with a cursor for each file.
"""
