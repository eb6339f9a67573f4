"""From draft to index: redact → compose → cut → store (one transaction) → embed → index."""
