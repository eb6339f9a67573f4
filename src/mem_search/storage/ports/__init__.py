"""What each engine makes in its own way, as protocols: searches, and a few parts of a store.

All else of a store is a class of ``storage.sql``.
"""
