"""Forgets records: at once for whoever searches, then out of every file, with a receipt."""
