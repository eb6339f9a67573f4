"""Completions, related searches, and the search log."""
