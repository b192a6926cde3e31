"""Asking a person: who waits for whom, and what counts as an answer."""
