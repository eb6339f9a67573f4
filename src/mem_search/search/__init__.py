"""The pipeline: question → rankings → fusion → context → page. ``engine`` shows it whole."""
