"""Pure text: passages, query words, snippets, dates, redaction, token counts. No I/O."""
