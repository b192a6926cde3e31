"""Runs the command line as `python -m benchmarks.world`, or as `python benchmarks/world`."""

import sys
from pathlib import Path

if __package__:
    from .cli import main
else:  # run by its path: then this folder is on the import path, and its parent is not
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from world.cli import main

sys.exit(main())
