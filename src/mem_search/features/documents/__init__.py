"""Takes files, pages and mails with what is said about them, and shows them as they are stored."""
