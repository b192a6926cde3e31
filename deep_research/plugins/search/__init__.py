"""Search engines: each answers a query with sources, best first."""
