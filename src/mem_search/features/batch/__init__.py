"""Several searches in one request."""
