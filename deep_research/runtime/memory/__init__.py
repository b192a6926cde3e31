"""What earlier runs established, kept in one SQLite file; see `docs/guides/memory.md`."""
