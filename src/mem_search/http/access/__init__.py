"""Who may ask over HTTP, from where and how much: origins, tokens, rate limits."""
