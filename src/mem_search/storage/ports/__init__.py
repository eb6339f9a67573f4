"""What each engine makes in its own way: what searches read.

All else of a store is a class of ``storage.sql``; ``storage.store`` names the parts.
"""
