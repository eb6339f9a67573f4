"""What is stored, from where, and what became of each item."""
