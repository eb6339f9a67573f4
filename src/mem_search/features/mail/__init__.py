"""Notification by e-mail, through the SMTP server that a setting names."""
