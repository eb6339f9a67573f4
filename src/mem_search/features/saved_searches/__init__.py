"""Searches that are repeated, and the inbox of what they find."""
