"""A researcher that uses tools: it searches, reads and thinks as it sees fit."""
