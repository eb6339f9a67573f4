"""Stored searches: research chains and their replay, background searches, saved searches. Each
stores what it needs to continue after a restart or to run again.
"""
