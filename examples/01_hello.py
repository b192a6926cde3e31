"""One question, one call. Needs no key, no language model and no internet.

python examples/01_hello.py
"""

from pathlib import Path

import deep_research

CORPUS = Path(__file__).parent / "corpus"

report = deep_research.run("How was the longitude problem solved?", docs=CORPUS)

print(report.body)
print("\nReferences")
for reference in report.references:
    print(f"{reference.n:3}. {reference.title}  {reference.url}")
print(f"\n{report.status} ({report.stop_reason}): {report.usage.pages} pages read")
