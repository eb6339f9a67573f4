"""Where things are kept: ``sqlite`` is the truth, ``chroma`` a derived index of it."""
