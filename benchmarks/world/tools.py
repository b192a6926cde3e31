"""Tool loops: how the simulated model acts as a supervisor or a researcher."""

from __future__ import annotations

import json
import re

from .filler import Filler
from .prompt import Prompt
from .reading import names_in
from .writing import aspects_in, call_arguments, page_summary, phrase, think_text, with_article


def _tool_kind(fn) -> str:
    name = fn.get("name", "")
    props = (fn.get("parameters") or {}).get("properties") or {}
    if re.search(r"think|reflect|scratch", name, re.I):
        return "think"
    if re.search(r"complete|finish|done|final|submit|stop", name, re.I):
        return "complete"
    if re.search(r"search", name, re.I) and any(re.search("quer|q$|keyword", k, re.I) for k in props):
        return "search"
    if re.search(r"fetch|read|scrape|open|browse|visit|extract|crawl|get_page|load", name, re.I) and any(
        re.search("url|link|id", k, re.I) for k in props
    ):
        return "fetch"
    if re.search(r"research|delegate|agent|assign|investigat|subtask|spawn", name, re.I) and props:
        return "delegate"
    return "other"


class ToolUser:
    """Supervisor and researcher behaviour."""

    def __init__(self, p: Prompt, fns: list[dict], max_tokens: int):
        self.p, self.fns, self.max = p, fns, max_tokens
        self.kinds = {}
        for f in fns:
            self.kinds.setdefault(_tool_kind(f), f)
        self.calls = [
            (tc["function"]["name"], call_arguments(tc)) for m in p.messages for tc in (m.get("tool_calls") or [])
        ]
        roles = [m.get("role") for m in p.messages]
        self.last_tool = (
            [m for m in p.messages[-8:] if m.get("role") == "tool"][-1:] if roles and roles[-1] == "tool" else []
        )
        self.turns = sum(1 for m in p.messages if m.get("role") == "assistant")

    def act(self):
        if "delegate" in self.kinds:
            return self.supervise()
        if "search" in self.kinds or "fetch" in self.kinds:
            return self.research()
        fn = next(iter(self.kinds.values()))
        return "", [(fn["name"], Filler(self.p, fn.get("parameters") or {}, self.max).fill())]

    def _wants_think(self):
        return "think" in self.kinds

    def _last_names(self):
        for m in reversed(self.p.messages):
            if m.get("role") == "assistant":
                return [tc["function"]["name"] for tc in m.get("tool_calls") or []]
        return []

    def _think(self):
        fn = self.kinds["think"]
        key = next(iter((fn.get("parameters") or {}).get("properties") or {"reflection": 0}))
        return "", [(fn["name"], {key: think_text(self.p)})]

    def supervise(self):
        p = self.p.analyse()
        fn = self.kinds["delegate"]
        props = (fn.get("parameters") or {}).get("properties") or {}
        key = next(
            (k for k in props if re.search("topic|task|question|instruct|query|goal", k, re.I)), next(iter(props))
        )
        last = self._last_names()
        think = self.kinds.get("think", {}).get("name")
        if think and (not last or fn["name"] in last):
            return self._think()
        limit = 5
        m = re.search(r"[Mm]aximum (?:of )?(\d+) (?:parallel|concurrent)|(\d+) (?:parallel|concurrent) agents", p.all)
        if m:
            limit = int(m.group(1) or m.group(2))
        ran = [a.get(key, "") for n, a in self.calls if n == fn["name"]]
        refused = sum("Did not run this research" in t for r, t in p.texts if r == "tool")
        explored = {names_in(t)[0] for t in ran if names_in(t)}
        if refused:
            explored = {names_in(t)[0] for t in ran[: len(ran) - refused] if names_in(t)}
        topics = []
        root = p.q_names[0] if p.q_names else ""
        if not ran:
            asp = aspects_in(p.question)
            per = max(1, -(-len(asp) // limit))
            groups = [asp[i : i + per] for i in range(0, len(asp), per)] if asp else []
            for g in groups[:limit]:
                topics.append(
                    f"Research {with_article(p, root)}, in particular its {' and '.join(g)}. Find exact figures and dates, with sources, "
                    f"and name every further thing that {with_article(p, root)} depends on in this respect."
                )
            if not topics:
                for x in (p.q_names or [p.question[:200]])[:limit]:
                    topics.append(
                        f"Research {with_article(p, x)}. Find exact figures and dates, with sources, and name every further thing it depends on."
                    )
        else:
            for x in [n for n in p.open + p.weak if n not in explored][:limit]:
                par = p.parent_of(x)
                topics.append(
                    f"Research {with_article(p, x)}"
                    + (f", on which {with_article(p, par)} depends" if par else "")
                    + ". Find its exact figures and dates, with sources, and name every further thing it depends on."
                )
        if not topics:
            done = self.kinds.get("complete")
            if done:
                return "", [(done["name"], Filler(p, done.get("parameters") or {}, self.max).fill())]
            return think_text(p), []
        return "", [
            (
                fn["name"],
                {**{k: Filler(p, v, self.max).value(v, k, None, 1) for k, v in props.items() if k != key}, key: t},
            )
            for t in topics
        ]

    def research(self):
        p = self.p.analyse()
        search, fetch = self.kinds.get("search"), self.kinds.get("fetch")
        last = self._last_names()
        if self._wants_think() and last and (search and search["name"] in last or fetch and fetch["name"] in last):
            return self._think()
        budgets = [
            int(x) for x in re.findall(r"(?:up to|after|at most|maximum(?: of)?) (\d+) (?:search|tool|quer)", p.all)
        ]
        budget = max(budgets) if budgets else 5
        searched = [a for n, a in self.calls if search and n == search["name"]]
        asked = [q for a in searched for q in (a.get("queries") or [a.get("query") or a.get("q") or ""])]
        asked_names = {n for q in asked for n in names_in(q)}
        # pages first, when there is a tool to read them
        if fetch and searched:
            fetched = " ".join(json.dumps(a) for n, a in self.calls if n == fetch["name"])
            fl = Filler(p, {}, self.max)
            todo = [u for u in p.reading.sources if u not in fetched and fl.names_match(u)]
            n_fetched = sum(1 for n, _ in self.calls if n == fetch["name"])
            if todo and n_fetched < 8:
                props = (fetch.get("parameters") or {}).get("properties") or {}
                key = next(k for k in props if re.search("url|link|id", k, re.I))
                if self._type(props[key]) == "array":
                    return "", [(fetch["name"], {key: todo[:4]})]
                return "", [(fetch["name"], {key: u}) for u in todo[:3]]
        if search and len(searched) < budget:
            if not searched:
                main = p.q_names[:1]
                qs = []
                if main:
                    asp = re.search(r"in particular its ([^.]+)", p.question)
                    qs = [
                        f"{p.full(main[0])} {asp.group(1).replace(' and ', ' ')}"
                        if asp
                        else f"{p.full(main[0])} {phrase(p, main[0])}",
                        f"{p.full(main[0])} what it depends on",
                    ]
                else:
                    qs = [" ".join(p.question.split()[:12])]
            else:
                # pursue what the topic's own pages name, one step away, not everything
                near = [n for n in p.open + p.weak if p.dist.get(n, 9) <= 2 and n not in asked_names]
                qs = [f"{p.full(n)} {phrase(p, n)}" for n in near[:3]]
                if not qs and len(searched) == 1 and p.q_names:
                    qs = [f"{p.full(p.q_names[0])} history and dates"]
            qs = [q for q in qs if q not in asked]
            if qs:
                props = (search.get("parameters") or {}).get("properties") or {}
                key = next(k for k in props if re.search("quer|q$|keyword", k, re.I))
                if self._type(props[key]) == "array":
                    return "", [(search["name"], {key: qs})]
                return "", [(search["name"], {key: q}) for q in qs]
        done = self.kinds.get("complete")
        if done and (done.get("parameters") or {}).get("properties"):
            return "", [(done["name"], Filler(p, done["parameters"], self.max).fill())]
        return "Research on this topic is complete. " + page_summary(p, 8), []

    @staticmethod
    def _type(s):
        if s.get("type"):
            return s["type"]
        return next((o.get("type") for o in s.get("anyOf", []) if o.get("type") != "null"), "string")
