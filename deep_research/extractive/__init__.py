"""Research without a language model: the same steps, done by rules, with the sources' own sentences."""
