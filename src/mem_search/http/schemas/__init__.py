"""Request and response models of ``/api/v1``."""
