"""The pipeline: question → rankings → fusion → context → page. ``pipeline`` shows it whole."""
