"""Showing another user of this worker the records of a scope, or of a saved search."""
