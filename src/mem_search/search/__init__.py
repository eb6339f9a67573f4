"""One search: request → filters → legs → fusion → stages → page. ``pipeline`` shows it whole."""
