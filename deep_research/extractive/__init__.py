"""Research without a language model: the same steps by rule, in the sources' own sentences."""
