"""English words, by which invented names are told from language. `words.LICENSE` says where the list is from."""

from pathlib import Path

ENGLISH = frozenset(Path(__file__).with_name("words.txt").read_text(encoding="ascii").split())
