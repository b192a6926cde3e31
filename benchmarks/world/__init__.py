"""A deterministic, offline 'world' on loopback for measuring deep-research engines.

Modules
-------
words     English words, by which invented names are told from language
kinds     what the synthetic web is made of: kinds of things, fact sentences, filler
content   seeded synthetic web: topics -> entities -> facts -> pages
render    a page as HTML or PDF
search    BM25 index over the pages, with snippets
embed     hashed bag-of-words embedding vectors
reading, prompt, writing, schema, filler, tools, reader
          the simulated language model: a rule-based reader that only sees the prompt
state, web, api, server
          aiohttp app: pages, search (SearXNG, Tavily, custom), OpenAI API, admin
score     scorer of a final report against the planted facts
analyse   concurrency of a call log, and the critical path of an engine's own events
"""
