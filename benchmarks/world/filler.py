"""Filling any JSON schema, by the names of its fields."""

from __future__ import annotations

import re
from collections import Counter

from .prompt import Prompt
from .reading import names_in
from .writing import (
    asked_count,
    make_queries,
    make_questions,
    make_report,
    merged_learnings,
    page_summary,
    sections_of,
    site_of,
    think_text,
    with_article,
)

Q = re.compile(r"quer|search|keyword", re.I)
QUESTION = re.compile(r"question|follow|gap|unknown|lead|next|open|missing|unresolved|direction|probe|aspect", re.I)
FACT = re.compile(
    r"learn|fact|finding|insight|claim|evidence|statement|note|quote|excerpt|observation|key_?point|highlight|result|detail|answer",
    re.I,
)
SOURCE = re.compile(r"source|citation|url|ref|link|doc|page|site", re.I)
SECTION = re.compile(r"section|outline|chapter|heading|toc|part|structure", re.I)
ENTITY = re.compile(r"entit|name|term|tag|concept|subject", re.I)
TASK = re.compile(r"task|step|plan|subtopic|topic|branch|agent|objective|goal|sub_?quest", re.I)
CONFLICT = re.compile(r"conflict|contradict|disagree|discrepan", re.I)
DONE = re.compile(r"done|complete|stop|finish|sufficient|enough|satisf|answered|resolved|exhausted|saturat", re.I)
MORE = re.compile(r"continue|need_?more|should_?search|more_?research|incomplete|has_?gaps|needs", re.I)


class Filler:
    """Fills any JSON schema by field names from one prompt."""

    def __init__(self, p: Prompt, schema: dict, max_tokens: int):
        self.p, self.root, self.max = p, schema, max_tokens
        self.defs = schema.get("$defs") or schema.get("definitions") or {}
        p.analyse()

    def fill(self):
        return self.value(self.root, "", None, 0)

    def resolve(self, s):
        for _ in range(8):
            if "$ref" in s:
                s = self.defs.get(s["$ref"].split("/")[-1], {})
            elif s.get("allOf"):
                s = {**{k: v for k, v in s.items() if k != "allOf"}, **s["allOf"][0]}
            elif s.get("anyOf") or s.get("oneOf"):
                opts = s.get("anyOf") or s.get("oneOf")
                real = [o for o in opts if o.get("type") != "null"]
                s = {
                    **{k: v for k, v in s.items() if k not in ("anyOf", "oneOf")},
                    **(real[0] if real else {"type": "null"}),
                }
            else:
                break
        return s

    def value(self, s, name, rec, depth, siblings=()):
        s = self.resolve(s)
        if "const" in s:
            return s["const"]
        t = s.get("type")
        if isinstance(t, list):
            t = next((x for x in t if x != "null"), "string")
        if "enum" in s:
            return self.enum(s, name, rec)
        if t == "object" or "properties" in s:
            props = s.get("properties") or {}
            return {k: self.value(v, k, rec, depth + 1, tuple(props)) for k, v in props.items()} if depth < 8 else {}
        if t == "array":
            return self.array(s, name, rec, depth)
        if t == "boolean":
            return self.boolean(name, s)
        if t in ("number", "integer"):
            return self.number(s, name, rec, t)
        if t == "null":
            return None
        return self.string(s, name, rec, siblings)

    # -- arrays -------------------------------------------------------------
    def array(self, s, name, rec, depth):
        item = self.resolve(s.get("items") or {"type": "string"})
        props = item.get("properties") or {}
        hint = name or item.get("description", "") or item.get("title", "")
        records = self.records(hint, item, props, s, rec)
        lo, hi = s.get("minItems", 0), s.get("maxItems")
        if hi:
            records = records[:hi]
        if item.get("type") in ("integer", "number") and not props:
            labs = [self.label_number(r) for r in records]
            labs = [x for x in dict.fromkeys(labs) if x is not None]
            return labs
        if "enum" in item:
            allowed = item["enum"]
            labs = [r.get("label") or r.get("url") for r in records]
            return [x for x in dict.fromkeys(labs) if x in allowed] or allowed[:1]
        out = [self.value(item, name, r, depth + 1) for r in records]
        while len(out) < lo and out:
            out.append(out[-1])
        return out

    def label_number(self, r):
        m = re.search(r"\d+", r.get("label") or "")
        return int(m.group()) if m else r.get("i")

    def records(self, name, item, props, s, rec):
        """What the array's items are about: a list of record dicts."""
        p = self.p
        keys = " ".join(props)
        desc = (s.get("description") or "") + " " + (item.get("description") or "")
        text = p.all[-6000:] + p.all[:3000]
        if rec and rec.get("facts") and (SOURCE.search(name) or FACT.search(name)):
            if FACT.search(name) and not SOURCE.search(name):
                return [self.fact_rec(f, i) for i, f in enumerate(rec["facts"])]
            urls = list(dict.fromkeys(u for f in rec["facts"] for u in f.urls))
            return [self.url_rec(u, i) for i, u in enumerate(urls)]
        if rec and rec.get("url") and SOURCE.search(name):
            return [self.url_rec(u, i) for i, u in enumerate(rec.get("urls") or [rec["url"]])]
        kind = None
        if CONFLICT.search(name):
            kind = "conflict"
        elif Q.search(name) or ("query" in keys and not QUESTION.search(name)):
            kind = "query"
        elif QUESTION.search(name) or ("question" in keys and not FACT.search(name)):
            kind = "question"
        elif SECTION.search(name):
            kind = "section"
        elif FACT.search(name) and not re.search(r"^sources?$", name, re.I):
            kind = "fact"
        elif SOURCE.search(name):
            kind = "source"
        elif re.search(r"quote|claim|insight|learning|fact|finding|statement|evidence", keys, re.I):
            kind = "fact"
        elif TASK.search(name):
            kind = "query"
        elif ENTITY.search(name):
            kind = "entity"
        elif re.search(r"select|keep|pick|chosen|rank|relevant|ids|indices|index", name, re.I):
            kind = "source"
        elif Q.search(desc):
            kind = "query"
        elif re.search(r"url|href", keys):
            kind = "source"
        elif re.search(r"heading|title", keys):
            kind = "section"
        else:
            kind = "question" if re.search("question", desc + name, re.I) else "fact" if p._facts else "query"
        hi = s.get("maxItems")
        if kind == "query":
            n = hi or asked_count(text, "quer|search|sub|task|topic|branch|direction|question", 4)
            return [dict(q, text=q["query"], i=i) for i, q in enumerate(make_queries(p, min(n, 20)))]
        if kind == "question":
            n = hi or asked_count(text, "question|follow|direction|gap", 3)
            stop = re.search(r"gap|missing|open|lead|unresolved|next", name, re.I) and not p.open and not p.weak
            qs = [] if stop else make_questions(p, n)
            return [
                dict(text=q, query=q, goal=q, question=q, name=(names_in(q) or [""])[0], i=i) for i, q in enumerate(qs)
            ]
        if kind == "conflict":
            return [
                dict(
                    text=f"{a.text} (but: {b[0].text})",
                    url=(a.urls or [""])[0],
                    name=a.subject,
                    i=i,
                    quote=b[0].text,
                    facts=[],
                )
                for i, (a, b) in enumerate(p.conflicts)
            ][: hi or 10]
        if kind == "section":
            return [
                dict(text=x["title"], title=x["title"], facts=x["facts"], name=x["name"], i=i)
                for i, x in enumerate(sections_of(p))
            ][: hi or 60]
        if kind == "source":
            rel = Counter(u for f in p.facts() for u in f.urls)
            order = list(p.reading.sources)
            good = [u for u in order if rel[u] or self.names_match(u)]
            return [self.url_rec(u, order.index(u)) for u in (good or order)][
                : hi or asked_count(text, "source|url|result|page|link", 10)
            ]
        if kind == "entity":
            ns = list(dict.fromkeys(p.q_names + p.open + [f.subject for f in p.facts()]))
            return [
                dict(text=p.full(n), name=n, i=i, facts=[f for f in p.facts() if f.subject == n])
                for i, n in enumerate(ns)
            ][: hi or 20]
        single = re.search(r"quote|claim|fact|statement|evidence|excerpt|verbatim", name + " " + keys, re.I)
        cap = hi or asked_count(
            text, "learning|fact|finding|insight|claim|evidence|quote|point|item", 10 if not single else 24
        )
        if single:
            return [self.fact_rec(f, i) for i, f in enumerate(p.facts(cap))]
        return [
            dict(
                text=m["text"],
                url=m["url"],
                label=m["label"],
                title=m["title"],
                name=m["subject"],
                i=i,
                facts=m["facts"],
                quote=m["facts"][0].text,
            )
            for i, m in enumerate(merged_learnings(p, cap))
        ]

    def names_match(self, u):
        info = self.p.reading.sources.get(u, {})
        blob = (info.get("title", "") + " " + u.replace("-", " ")).lower()
        return any(n.split("-")[0].split()[-1].lower() in blob for n in self.p.q_names[:6] + self.p.open[:6])

    def fact_rec(self, f, i):
        lab = f.label or (self.p.reading.sources.get(f.urls[0], {}).get("label") if f.urls else "")
        return dict(
            text=f.text,
            quote=f.text,
            url=f.urls[0] if f.urls else "",
            urls=f.urls,
            label=lab,
            title=f.title,
            name=f.subject,
            i=i,
            facts=[f],
        )

    def url_rec(self, u, i):
        info = self.p.reading.sources.get(u, {})
        return dict(
            text=u,
            url=u,
            urls=[u],
            title=info.get("title") or site_of(u),
            label=info.get("label") or str(i + 1),
            i=i,
            facts=[f for f in self.p.facts() if u in f.urls],
            name="",
        )

    # -- scalars ------------------------------------------------------------
    def enum(self, s, name, rec):
        vals = s["enum"]
        if rec and rec.get("label") in vals:
            return rec["label"]
        if rec and rec.get("url") in vals:
            return rec["url"]
        if DONE.search(name) or re.search(r"decision|action|next|status|verdict", name, re.I):
            want = (
                "done|complete|stop|finish|report|answer|sufficient"
                if not self.p.open
                else "continue|search|research|more|deeper|insufficient"
            )
            for v in vals:
                if isinstance(v, str) and re.search(want, v, re.I):
                    return v
            for v in vals:
                if (
                    isinstance(v, str)
                    and re.search("support|valid|yes|true|high|relevant", v, re.I)
                    and not re.match("un|not|in|ir", v, re.I)
                ):
                    return v
        for want in ("high", "supported", "relevant", "yes", "fact", "general"):
            for v in vals:
                if isinstance(v, str) and v.lower() == want:
                    return v
        return vals[0]

    def boolean(self, name, s):
        p = self.p
        if re.search(r"clarif", name, re.I):
            return False
        if re.search(
            r"support|entail|grounded|verified|valid|correct|accurate|true|relevant|useful|reliable|is_?fact|keep|include",
            name,
            re.I,
        ):
            return self.supported()
        if MORE.search(name):
            return bool(p.open)
        if DONE.search(name):
            return not p.open
        if re.search(r"contradict|conflict", name, re.I):
            return bool(p.conflicts)
        return True

    def supported(self) -> bool:
        m = re.search(r"(?:claim|statement|sentence)\s*[:=]\s*[\"']?(.+)", self.p.all, re.I)
        if not m:
            return True
        claim = m.group(1)
        rest = self.p.all[: m.start()] + self.p.all[m.end() :]
        toks = re.findall(r"\d[\d.,]*\d|\d", claim)
        return all(t in rest for t in toks) and all(n in rest for n in names_in(claim))

    def number(self, s, name, rec, t):
        lo, hi = s.get("minimum", s.get("exclusiveMinimum")), s.get("maximum", s.get("exclusiveMaximum"))
        if (
            rec is not None
            and re.search(r"id$|idx|index|number|source|citation|ref|rank", name, re.I)
            and not re.search("score|count", name, re.I)
        ):
            v = self.label_number(rec)
            if v is not None:
                return v
        if re.search(r"score|relev|confid|import|prior|quality|prob|certain|credib|novel|complet|coverage", name, re.I):
            desc = (s.get("description") or "") + self.p.all[-4000:]
            if hi is None:
                hi = (
                    1
                    if t == "number" or re.search(r"0(?:\.0)?\s*(?:-|to|and)\s*1(?:\.0)?\b", desc)
                    else 100
                    if re.search(r"0\s*(?:-|to)\s*100", desc)
                    else 10
                )
            good = not (rec and "facts" in rec and not rec["facts"] and not rec.get("query"))
            v = (0.9 if good else 0.2) * hi
            return round(v) if t == "integer" else v
        if re.search(r"year", name, re.I):
            return 2025
        if re.search(r"count|num|n_|total|words", name, re.I):
            return len(self.p.facts())
        v = lo if lo is not None else 1
        return int(v) if t == "integer" else float(v)

    def string(self, s, name, rec, siblings):
        p = self.p
        desc = s.get("description") or ""
        low = name.lower()
        if rec is not None:
            if re.search(r"url|href|link|source|citation|ref", low):
                if re.search(r"id$|label|ref|num|index|key|marker", low) and rec.get("label"):
                    return rec["label"]
                return rec.get("url") or rec.get("label") or ""
            if low in ("id", "label", "source_id", "index"):
                return rec.get("label") or str(rec.get("i", 0) + 1)
            if re.search(r"goal|why|purpose|rationale|reason|objective|intent|justif|explan|because", low):
                return rec.get("goal") or (
                    f"It states figures about {rec.get('name') or 'the subject'}."
                    if rec.get("facts")
                    else f"It bears on {rec.get('name') or 'the question'}."
                )
            if re.search(r"quote|verbatim|excerpt|evidence|snippet|span", low):
                return rec.get("quote") or (rec["facts"][0].text if rec.get("facts") else rec.get("text", ""))
            if re.search(r"title|heading|header|^name$|headline", low):
                return rec.get("title") or (p.full(rec["name"]) if rec.get("name") else rec.get("text", ""))
            if re.search(r"entity|subject|topic_name", low) and rec.get("name"):
                return p.full(rec["name"])
            if re.search(r"date|published|year", low):
                m = re.search(r"\b(19|20)\d\d\b", rec.get("quote") or rec.get("text") or "")
                return m.group() if m else ""
            if re.search(r"^value$|figure|number", low):
                m = re.findall(
                    r"\d[\d.,]*",
                    re.sub(
                        "|".join(
                            map(
                                re.escape,
                                (rec.get("facts") or [None])
                                and [n for f in rec.get("facts", []) if f for n in f.names]
                                or ["\0"],
                            )
                        ),
                        " ",
                        rec.get("quote", ""),
                    ),
                )
                return m[-1] if m else ""
            if (
                re.search(r"content|body|summary|markdown|brief|description|key|guidance|notes", low)
                and rec.get("facts")
                and ("title" in rec)
                and rec.get("name")
            ):
                if re.search(r"content|body|markdown|text", low):
                    return make_report(
                        p,
                        self.max,
                        sections=[dict(name=rec["name"], title=rec["title"], facts=rec["facts"])],
                        heading=False,
                    ).strip()
                return " ".join(f.text for f in rec["facts"])
            if re.search(r"quer|search|keyword", low):
                return rec.get("query") or rec.get("text", "")
            if re.search(r"question", low):
                return rec.get("question") or (
                    f"What is known about {with_article(p, rec['name'])}?" if rec.get("name") else rec.get("text", "")
                )
            if re.search(r"topic|task|instruction", low) and rec.get("goal"):
                return rec["goal"]
            if re.search(r"type|category|kind|status", low):
                return "fact"
            return rec.get("text") or rec.get("query") or ""
        # top level
        if re.search(r"clarif", " ".join(siblings), re.I):
            if low == "question":
                return ""
            if re.search(r"verif", low):
                return "The request is clear. Research will now start on " + " ".join(p.question.split())[:160]
        if low in ("server",) or re.search(r"agent_?name", low):
            return "\U0001f52c Research Agent"
        if re.search(r"role|persona|agent", low):
            return (
                "You are an experienced research analyst AI assistant. Your primary goal is to compose thorough, impartial "
                "and well-structured reports based on the sources provided."
            )
        if re.search(r"report|markdown|article|document|essay|draft|content|body", low) and not re.search(
            "title|type|brief", low
        ):
            return make_report(p, self.max)
        if re.search(r"brief|research_question|refined|restated|rewritten|instruction", low):
            q = " ".join(re.sub(r"^\s*(?:human|user)\s*:\s*", "", p.question.strip(), flags=re.I).split())
            return (
                "I want a thorough, sourced account. "
                + q
                + " Sources of any kind are acceptable; where figures conflict, prefer the most recent. "
                "No constraint on length is given."
            )
        if re.search(r"research_topic|topic", low):
            qs = make_queries(p, 1)
            return qs[0]["goal"] if qs else p.question
        if re.search(r"quer|search", low):
            qs = make_queries(p, 1)
            return qs[0]["query"] if qs else p.question[:200]
        if re.search(r"question|follow", low):
            return (make_questions(p, 1) or [""])[0]
        if re.search(r"url|link|href", low):
            return next(iter(p.reading.sources), "")
        if re.search(r"title|heading|headline", low):
            return (with_article(p, p.q_names[0]) + ": an account").capitalize() if p.q_names else "Report"
        if re.search(r"excerpt|quote|evidence", low):
            return " ".join(f.text for f in p.facts(5)) or page_summary(p, 5)
        if re.search(r"reflect|thought|think|reason|rationale|explan|why|analysis|assess|plan|strategy", low):
            return think_text(p)
        if re.search(
            r"conclu|answer|summary|overview|abstract|finding|learning|insight|text|synthesis|compressed|introduction|intro|notes",
            low,
        ):
            return (
                page_summary(p)
                if re.search("summary|abstract|note|compress", low)
                else make_report(p, self.max, heading=False).strip() or page_summary(p)
            )
        if re.search(r"decision|action|next|status|verdict", low):
            return "continue" if p.open else "complete"
        if re.search(r"lang", low):
            return "English"
        if p._facts:
            return page_summary(p)
        return " ".join(p.question.split())[:200] or desc
