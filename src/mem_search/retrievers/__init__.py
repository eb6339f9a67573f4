"""The legs of a search: each turns a question into a ranking, and knows no other leg."""
