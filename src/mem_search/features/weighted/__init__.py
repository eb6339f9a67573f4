"""``/api/v2/search``: search with the weights that the caller sets."""
