"""Says what became of a file or folder: stored, left out, failed, or never seen."""
