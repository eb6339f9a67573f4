"""The documents of this version, looked up from the command line; nothing is stored for it."""
