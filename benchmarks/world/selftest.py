"""Checks of the world: determinism, search, pages, PDF, the reader on prompts of several styles, and the scorer."""

from __future__ import annotations

import json

from .content import World
from .reader import Reader
from .render import extracted, html, pdf
from .score import score
from .search import Index


def ask(system, user, **kw):
    return Reader().reply(
        {"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}], **kw}
    )


def schema(props, name="out"):
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": name, "schema": {"type": "object", "properties": props, "required": list(props)}},
        }
    }


S, A, O, I, B = (
    {"type": "string"},
    lambda i: {"type": "array", "items": i},
    lambda p: {"type": "object", "properties": p},
    {"type": "integer"},
    {"type": "boolean"},
)


def run() -> int:
    bad = []

    def check(name, ok, note=""):
        print(("ok   " if ok else "FAIL ") + name + (f"  {note}" if note else ""))
        if not ok:
            bad.append(name)

    w, w2 = World(seed=3), World(seed=3)
    check(
        "same seed, same pages",
        [html(p, w, 3) for p in w.pages.values()] == [html(p, w2, 3) for p in w2.pages.values()],
    )
    check("other seed, other world", World(seed=4).question() != w.question())
    t = w.truth()
    check("every fact stands on a living page", all(f["pages"] for f in t["facts"]))
    ix = Index(w)
    root = w.entities[w.roots[0]]
    check("search finds the root's page first", root.name in ix.search(root.full, 5)[0][1].title)
    check("the PDF is one", pdf(next(p for p in w.pages.values() if p.kind == "pdf")).startswith(b"%PDF-1.4"))

    q = w.question()
    pages = [p for _, p in ix.search(root.full, 5) if p.status == "ok"][:3]
    base = "http://127.0.0.1:8900"
    tagged = "\n".join(
        f'<source id="S{i + 1}" url="{base}{p.url_path}" title="{p.title}">\n{extracted(p)}\n</source>'
        for i, p in enumerate(pages)
    )
    plain = "\n\n".join(f"[{i + 1}] {p.title}\nURL: {base}{p.url_path}\n{extracted(p)}" for i, p in enumerate(pages))
    rows = json.dumps([dict(url=base + p.url_path, title=p.title, content=extracted(p)) for p in pages])

    r = json.loads(
        ask(
            "You plan web research.",
            f"Question: {q}\nPropose up to 5 search queries.",
            **schema({"queries": A(O({"query": S, "goal": S}))}),
        ).content
    )
    check(
        "schema: queries",
        len(r["queries"]) == 5 and all(root.name in x["query"] for x in r["queries"]),
        r["queries"][0]["query"],
    )
    r = json.loads(
        ask(
            "You plan web research. Answer in JSON.",
            f'Question: {q}\n\nRespond with JSON: {{"queries": ["..."]}}',
            response_format={"type": "json_object"},
        ).content
    )
    check("template: queries", len(r["queries"]) >= 3, str(r)[:80])
    for label, ctx in (("tagged", tagged), ("plain", plain), ("json rows", rows)):
        r = json.loads(
            ask(
                "Extract facts.",
                f"Question: {q}\n\nSources:\n{ctx}",
                **schema({"learnings": A(O({"insight": S, "quote": S, "url": S})), "followups": A(S), "done": B}),
            ).content
        )
        good = [
            x for x in r["learnings"] for p in pages if x["url"] == base + p.url_path and x["quote"] in extracted(p)
        ]
        check(
            f"schema: learnings with url and verbatim quote ({label})",
            len(r["learnings"]) > 2 and len(good) == len(r["learnings"]),
            f"{len(good)}/{len(r['learnings'])}",
        )
        check(
            f"schema: follow-ups name unexplained things ({label})",
            len(r["followups"]) > 0 and r["done"] is False,
            str(r["followups"])[:100],
        )
    r = json.loads(
        ask(
            "Extract facts. Cite by source_id.",
            f"Question: {q}\n\n{tagged}",
            **schema({"claims": A(O({"claim": S, "source_id": S}))}),
        ).content
    )
    ok = all(
        x["source_id"] in ("S1", "S2", "S3") and x["claim"] in extracted(pages[int(x["source_id"][1:]) - 1])
        for x in r["claims"]
    )
    check("schema: claims cite the ids shown", ok and len(r["claims"]) > 2, str(r["claims"][:1])[:120])
    r = json.loads(
        ask("Pick the results worth reading.", f"Question: {q}\n\n{plain}", **schema({"selected": A(I)})).content
    )
    check("schema: select by number", r["selected"] and set(r["selected"]) <= {1, 2, 3}, str(r))
    out = ask(
        "Write a report in markdown. Cite sources inline as [S1].", f"Question: {q}\n\n{tagged}\n\nWrite the report."
    ).content
    check("report cites shown ids", "[S1]" in out and "# " in out)
    out = ask(
        "Write a report in markdown with hyperlinks [text](url).", f"Question: {q}\n\n{plain}\n\nWrite the report."
    ).content
    s = score(w, out)
    check(
        "report, linked: citations hold",
        s["citation_precision"] == 1.0 and s["right"] >= 4,
        str({k: s[k] for k in ("right", "citations", "citation_precision")}),
    )
    tools = [
        dict(type="function", function=dict(name="web_search", description="search", parameters=O({"query": S}))),
        dict(type="function", function=dict(name="read_page", description="read", parameters=O({"url": S}))),
        dict(
            type="function",
            function=dict(
                name="finish", description="end", parameters=O({"summary": S, "confidence": {"type": "number"}})
            ),
        ),
    ]
    body = {
        "messages": [
            {"role": "system", "content": "You are a researcher with tools."},
            {"role": "user", "content": f"Question: {q}"},
        ],
        "tools": tools,
    }
    steps = []
    for _ in range(20):
        rep = Reader().reply(body)
        steps.append(rep.tool_calls[0][0] if rep.tool_calls else "text")
        if not rep.tool_calls or rep.tool_calls[0][0] == "finish":
            break
        body["messages"].append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    dict(id=f"c{i}", type="function", function=dict(name=n, arguments=json.dumps(a)))
                    for i, (n, a) in enumerate(rep.tool_calls)
                ],
            }
        )
        for i, (n, a) in enumerate(rep.tool_calls):
            if n == "web_search":
                c = json.dumps(
                    [
                        dict(url=base + p.url_path, title=p.title, snippet=ix.snippet(p, a["query"]))
                        for _, p in ix.search(a["query"], 5)
                    ]
                )
            else:
                p = w.pages.get(a["url"].replace(base, ""))
                c = f"URL: {a['url']}\n{extracted(p)}" if p else "error"
            body["messages"].append({"role": "tool", "tool_call_id": f"c{i}", "content": c})
    check(
        "tools: search, read, search deeper, finish",
        steps[0] == "web_search" and "read_page" in steps and steps[-1] == "finish",
        " ".join(steps),
    )
    f = w.topic_facts()[0]
    r = json.loads(
        ask("Verify.", f"Claim: {f.sentence}\nSource text: {f.sentence} More text.", **schema({"supported": B})).content
    )
    r2 = json.loads(
        ask(
            "Verify.",
            f"Claim: {f.sentence.replace(f.value, '77777')}\nSource text: {f.sentence} More text.",
            **schema({"supported": B}),
        ).content
    )
    check("claims are checked against the text", r["supported"] is True and r2["supported"] is False)

    full = "\n".join(
        f"- {x.text()} ({base}{next(pp for pp in w.pages.values() if pp.facts.get(x.id) == x.value and pp.status == 'ok').url_path})"
        for x in w.topic_facts()
    )
    s = score(w, full)
    check(
        "scorer: a perfect report",
        s["recall"] == 1.0 and s["citation_precision"] == 1.0 and s["wrong"] == 0 and s["invented"] == 0,
        str(s["recall_by_hop"]),
    )
    st = [x for x in w.topic_facts() if x.stale_value]
    s = score(w, "\n".join(x.text(stale=True) for x in st))
    check("scorer: older values are wrong", s["wrong"] == len(st) and s["right"] == 0, str(s["wrong"]))
    s = score(w, f.sentence.replace(f.value, "12345"))
    check("scorer: invented values", s["invented"] == 1 and s["right"] == 0)
    s = score(w, f"{f.sentence} [1]\n\n## Sources\n[1] Page: {base}{w.truth()['facts'][0]['pages'][0]}")
    check("scorer: numbered citations", s["citation_precision"] == 1.0, str(s["citations"]))
    print("all passed" if not bad else f"{len(bad)} failed: {bad}")
    return 1 if bad else 0
