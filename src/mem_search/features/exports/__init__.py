"""Records and results as files."""
