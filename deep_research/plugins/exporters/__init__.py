"""Report formats: each turns a `Report` into the bytes of one file."""
