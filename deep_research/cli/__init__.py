"""The command line: `main` is what `deep-research` calls."""

from .commands import main

__all__ = ["main"]
