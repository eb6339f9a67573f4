"""One record: added, replaced, changed."""
