"""Page readers: an address or a file in, plain text that quotes can point into out."""
