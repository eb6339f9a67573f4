"""What receivers of webhooks need."""
