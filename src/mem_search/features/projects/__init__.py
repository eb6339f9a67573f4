"""Merges and renames projects, takes that back, and lists them with their folders."""
