"""The second store: PostgreSQL with pgvector, for a team (ADR 0017). The default is SQLite.

Every row has an ``owner``, the user whose store it is in. Row-level security adds the condition to
each statement, so that no statement names it.
"""
