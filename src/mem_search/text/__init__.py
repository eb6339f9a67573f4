"""Pure functions of text: passages, query words, snippets, dates, redaction, token counts."""
