"""How a step is done with a language model: its prompt, its answer's schema, its call."""
