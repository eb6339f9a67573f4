"""Access over HTTP: checks of origins, tokens and rate limits."""
