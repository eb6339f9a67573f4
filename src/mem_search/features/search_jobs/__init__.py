"""Searches in the background, whose result is kept for a day."""
