"""What every outside call passes through: guard, once, HTTP, journal, token counts, progress."""
