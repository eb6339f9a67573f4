"""Keeps the stores of several machines in step, through a folder that any file sync carries."""
