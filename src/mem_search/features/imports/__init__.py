"""What is read into the store: this machine, one place of it, a file that is sent."""
