"""A whole home in one file, and back."""
