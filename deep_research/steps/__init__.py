"""How a step is done with a language model: one file each, with its prompt, its answer's schema and its call."""
