"""What research is: the nouns, the tree, the evidence. Standard library only, no I/O."""
