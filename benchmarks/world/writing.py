"""Writing from a prompt: queries, questions, learnings, sections, reports, summaries, thoughts."""

from __future__ import annotations

import hashlib
import json
import re

from .prompt import Finding, Prompt
from .reading import BOILER, names_in

FACETS = (
    "facts and figures",
    "history and dates",
    "what it depends on",
    "measurements and specifications",
    "background and organisation",
)


PHRASES = ("facts and figures", "key figures", "overview", "data and dates", "details", "figures and background")


def phrase(p: Prompt, name: str) -> str:
    """Wording of a query: the same prompt words it the same way, another prompt may not, as with a real model."""
    h = hashlib.md5((p.digest + name).encode()).digest()[0]
    return PHRASES[h % len(PHRASES)]


def aspects_in(question: str) -> list[str]:
    """'its history, budget, the vessels, alloys and people it depends on' -> list of aspects."""
    m = re.search(r":\s*its ([^:.]{10,300}?)(?: it depends on|,? and what|,? with\b|\.|$)", question)
    if not m:
        return []
    parts = re.split(r",| and ", m.group(1))
    return [re.sub(r"^(?:the|its)\s+", "", p.strip()) for p in parts if 2 < len(p.strip()) < 40]


def asked_count(text: str, what: str, default: int) -> int:
    m = re.search(
        r"(?:generate|write|create|produce|give|suggest|return|list|propose|up to|at most|maximum of|exactly|no more than|provide|ask)\s+"
        r"(?:up to |at most |a maximum of |a list of |exactly )?(\d{1,2})\b[^.\n]{0,60}?(?:" + what + ")",
        text,
        re.I,
    )
    return int(m.group(1)) if m else default


def make_queries(p: Prompt, n: int) -> list[dict]:
    """n search queries with goals, about the names and open questions of the prompt."""
    p.analyse()
    root = p.q_names[0] if p.q_names else ""
    explored = p._explored()
    base = " ".join(p.question.split())
    cands = []  # (query, name)
    has_context = bool(p._facts or p.leads) and bool(p.reading.sources)
    fresh = [x for x in p.q_names]
    if has_context:  # planning with results at hand: leads first, then gaps
        order = [x for x in p.open if x not in p.q_names] + [x for x in fresh if p.counts[x] < 2] + p.weak
    else:
        order = fresh
    for x in dict.fromkeys(order):
        if x not in explored:
            cands.append((f"{p.full(x)} {phrase(p, x)}", x))
    asp = aspects_in(p.question)
    if root:
        if has_context and root not in order:
            cands.append((f"{p.full(root)} history and dates", root))
        for i in range(0, len(asp), 2):
            cands.append((f"{p.full(root)} {' '.join(asp[i : i + 2])}", root))
    for f in FACETS[1:]:
        for x in fresh[:4]:
            cands.append((f"{p.full(x)} {f}", x))
    for x in fresh:
        if x in explored:
            cands.append((f"{p.full(x)} further details", x))
    if not cands:
        words = " ".join(base.split()[:10])
        cands = [(f"{words} {f}".strip(), "") for f in ("overview",) + FACETS]
    out, seen = [], set()
    for q, x in cands:
        if q.lower() not in seen and q.lower() != base.lower():
            seen.add(q.lower())
            par = p.parent_of(x) if x else ""
            par = "" if par == x else par
            goal = (
                f"Find what is recorded about {with_article(p, x)}: figures, dates and people"
                if x
                else f"Learn about {q}"
            )
            if par and par != x:
                goal += f", and how {with_article(p, par)} depends on it"
            goal += ", and name any further things it depends on."
            out.append({"query": q, "goal": goal, "name": x})
        if len(out) == n:
            break
    return out


def with_article(p: Prompt, n: str) -> str:
    full = p.full(n)
    return f"the {full}" if full != n else n


def make_questions(p: Prompt, n: int) -> list[str]:
    """Questions about things mentioned but not explained; then weakly covered; then facets."""
    p.analyse()
    out = []
    for x in p.open:
        par = p.parent_of(x)
        out.append(
            f"What is known about {with_article(p, x)}"
            + (f", on which {with_article(p, par)} depends?" if par else "?")
        )
    for x in p.weak:
        out.append(f"Which further figures and dates are recorded for {with_article(p, x)}?")
    for x in p.q_names:
        for f in (
            "exact figures and dates are recorded for",
            "people, companies and sites stand behind",
            "other things lie behind",
        ):
            out.append(f"Which {f} {with_article(p, x)}?")
    if not out:
        out = ["Which exact figures and dates are recorded?", "Who is involved?", "What does it depend on?"]
    return list(dict.fromkeys(out))[:n]


def merged_learnings(p: Prompt, n: int, per: int = 3) -> list[dict]:
    """Facts merged into information-dense learnings: up to `per` sentences of one subject and source."""
    groups: dict[tuple, list[Finding]] = {}
    for f in p.facts():
        groups.setdefault((f.subject, f.urls[0] if f.urls else ""), []).append(f)
    out = []
    for (subj, url), fs in groups.items():
        for i in range(0, len(fs), per):
            part = fs[i : i + per]
            lead = ""
            if i == 0:
                ls = [s for s in p.leads if subj in s.names and (url in s.urls or not s.urls)][:2]
                lead = " ".join(dict.fromkeys(s.text for s in ls))
            text = " ".join(f.text for f in part) + (" " + lead if lead else "")
            out.append(
                {
                    "text": text,
                    "url": url,
                    "facts": part,
                    "title": part[0].title,
                    "label": part[0].label,
                    "subject": subj,
                }
            )
    return out[:n]


def sections_of(p: Prompt, loose=True) -> list[dict]:
    """Facts grouped by subject, nearest to the question first."""
    groups: dict[str, list[Finding]] = {}
    for f in p.facts(loose=loose):
        groups.setdefault(f.subject, []).append(f)
    return [
        {"name": s, "title": (lambda t: t[0].upper() + t[1:])(with_article(p, s)), "facts": fs}
        for s, fs in groups.items()
    ]


def citation_style(p: Prompt) -> str:
    """'link' ([t](url)), 'number' ([1] + list) or 'label' (the ids shown in the context)."""
    ins = p.all
    labelled = [s for s in p.reading.sources.values() if s["label"]]
    by_label = re.search(
        r"\[S\d*\]|\[S1\]|\[\^1\]|cite[^\n]{0,80}(?:source )?(?:ids?|numbers?|labels?|index|indices|markers?)\b|\[n\]|"
        r"(?:cite|citation)[^\n]{0,100}\[(?:S?\d|N|id|source_id)\]",
        ins,
        re.I,
    )
    list_style = re.search(r"\[1\] (?:Source )?Title: URL|End with ### Sources", ins)
    if list_style:
        return "number"
    if by_label and labelled and len(labelled) >= 0.5 * len(p.reading.sources):
        return "label"
    if re.search(r"hyperlink|\]\(url\)|markdown link|\[[^\]]+\]\((?:url|link|https?)", ins, re.I):
        return "link"
    if labelled and re.search(r"cit", ins, re.I) and re.search(r"\[\d\]|\[n\]", ins):
        return "label"
    return "link"


def make_report(p: Prompt, max_tokens: int, sections=None, title=None, heading=True) -> str:
    """Markdown that restates the supplied facts with citations."""
    p.analyse()
    secs = sections if sections is not None else sections_of(p)
    style = citation_style(p)
    numbers: dict[str, int] = {}
    caret = "^" if re.search(r"\[\^\d\]", p.all) else ""

    def cite(f: Finding) -> str:
        urls = f.urls[:2]
        if not urls:
            return ""
        if style == "link":
            return " " + " ".join(f"([{site_of(u)}]({u}))" for u in urls)
        if style == "label":
            labs = [p.reading.sources.get(u, {}).get("label") or "" for u in urls]
            return " " + "".join(f"[{caret}{x}]" for x in labs if x)
        return " " + "".join(f"[{numbers.setdefault(u, len(numbers) + 1)}]" for u in urls)

    root = p.q_names[0] if p.q_names else (secs[0]["name"] if secs else "the subject")
    name = with_article(p, root)
    out = []
    if heading:
        out += [
            f"# {title or name[0].upper() + name[1:]}: an account",
            "",
            f"This report sets out what the collected sources record about {name} and what it depends on. "
            f"Each statement is followed by the source that gives it.",
            "",
        ]
    budget = max_tokens * 4 - 900  # room for the closing parts; the source list is counted as it grows
    used, listed = sum(map(len, out)), set()
    for s in secs:
        block = []
        if heading:
            block += [f"## {s['title']}", ""]
        leads = [x for x in p.leads if s["name"] in x.names][:1]
        para = []
        if leads and heading:
            lf = Finding(leads[0].text, "", leads[0].urls, "", leads[0].label, leads[0].names, False)
            para.append(leads[0].text + cite(lf))
        for f in s["facts"]:
            para.append(f.text + cite(f))
        block += [" ".join(para), ""]
        fresh = {u for f in s["facts"] for u in f.urls[:2]} - listed
        n = sum(map(len, block)) + len(block) + (sum(len(u) + 60 for u in fresh) if style != "label" else 0)
        if used + n > budget:
            break
        out += block
        used += n
        listed |= fresh
    if heading:
        if p.conflicts:
            out += [
                "## Conflicting figures",
                "",
                "Where sources of different years disagree, the most recent figure is given above.",
                "",
            ]
        if p.open:
            out += [
                "## Open points",
                "",
                "The sources name but do not describe " + ", ".join(with_article(p, x) for x in p.open[:6]) + ".",
                "",
            ]
        out += ["## Conclusion", "", f"Taken together, the sources give a consistent picture of {name}.", ""]
        if style in ("link", "number"):
            cited = list(
                dict.fromkeys(
                    u for s in secs for f in s["facts"] for u in f.urls[:2] if any(u in x for x in out) or u in numbers
                )
            )
            if style == "number":
                cited = sorted(numbers, key=numbers.get)
                out += ["### Sources", ""] + [
                    f"[{numbers[u]}] {p.reading.sources.get(u, {}).get('title') or site_of(u)}: {u}" for u in cited
                ]
            else:
                out += ["## References", ""] + [f"- [{site_of(u)}]({u})" for u in cited]
    return "\n".join(out).strip() + "\n"


def site_of(u: str) -> str:
    parts = [x for x in u.split("/") if x]
    return parts[-2] if len(parts) >= 2 and "." in parts[-2] else (parts[1] if len(parts) > 1 else u)


def make_findings(p: Prompt, max_tokens: int) -> str:
    """Clean, complete list of findings (facts and leads) with [n] citations and a source list."""
    p.analyse()
    numbers: dict[str, int] = {}

    def num(urls):
        return "".join(f"[{numbers.setdefault(u, len(numbers) + 1)}]" for u in urls[:3])

    queries = []
    for m in p.messages:
        for tc in m.get("tool_calls") or []:
            a = call_arguments(tc)
            queries += a.get("queries") or ([a["query"]] if a.get("query") else [])
    out = (
        ["**List of Queries and Tool Calls Made**"]
        + [f"- {q}" for q in dict.fromkeys(queries)]
        + ["", "**Fully Comprehensive Findings**"]
    )
    budget, used = max_tokens * 4 - 400, 0
    seen = set()
    rows = [(f.text, f.urls) for f in p.facts() if f.subject in p.dist or not p.q_names] + [
        (s.text, s.urls) for s in p.leads if len(s.names) > 1 and any(n in p.dist for n in s.names)
    ]
    rows.sort(key=lambda r: min((p.dist.get(n, 9) for n in names_in(r[0])), default=9))
    for text, urls in rows:
        if text in seen or not urls:
            continue
        seen.add(text)
        line = f"- {text} {num(urls)}"
        used += len(line) + 100
        if used > budget:
            break
        out.append(line)
    out += ["", "### Sources"] + [
        f"[{n}] {p.reading.sources.get(u, {}).get('title') or site_of(u)}: {u}"
        for u, n in sorted(numbers.items(), key=lambda x: x[1])
    ]
    return "\n".join(out)


def page_summary(p: Prompt, limit=40) -> str:
    p.analyse()
    sents = [f.text for f in p._facts][:limit] + list(dict.fromkeys(s.text for s in p.leads if s.names))[:12]
    if sents:
        return " ".join(sents)
    plain = [s.text for s in p.reading.sents if len(s.text.split()) > 6 and not BOILER.search(s.text)]
    return " ".join(plain[:3]) or "The page holds no relevant facts."


def think_text(p: Prompt) -> str:
    p.analyse()
    known = list(dict.fromkeys(f.subject for f in p.facts()))
    out = []
    if known:
        out.append("So far figures and dates were found for " + ", ".join(known[:8]) + ".")
    if p.open:
        out.append(
            "Still named but not explained: " + ", ".join(p.open[:8]) + ". These should be looked up by name next."
        )
    elif known:
        out.append("No named item is left unexplained, so the findings can be written up.")
    else:
        out.append(
            "The request concerns "
            + (", ".join(p.q_names[:5]) or "the given topic")
            + ". A first broad search should find its own page and what it depends on."
        )
    return " ".join(out)


def call_arguments(tc) -> dict:
    try:
        return json.loads(tc["function"]["arguments"])
    except (KeyError, ValueError, TypeError):
        return {}
