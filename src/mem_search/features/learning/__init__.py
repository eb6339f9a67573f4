"""``learn``: a ranking re-weighted by what one person opens, kept only where it wins."""
