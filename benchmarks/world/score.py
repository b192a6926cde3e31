"""Score a final report against the facts planted in a world.

recall              share of the topic's facts stated right (subject, attribute keyword and value in one sentence, bullet or
                    table row), overall and by hop distance from the root question
wrong               facts of which the report states the older, wrong value and nowhere the right one;
stale_mentions      sentences with an older value (also where the right one stands elsewhere)
invented            sentences with a topic subject and attribute but a value that no page states
citation precision  share of (sentence, cited URL) pairs whose page states that very fact with that very value
citation recall     share of stated facts with at least one supporting citation
"""

from __future__ import annotations

import re
from collections import Counter

_LINK = re.compile(r"\[([^\]\n]*)\]\((https?://[^)\s]+)\)")
_URL = re.compile(r"https?://[^\s\"'<>\])},;]+[^\s\"'<>\])},;.:!?]")
_NUM = re.compile(r"\[\^?(S?\d{1,4}(?:\s*,\s*S?\d{1,4})*)\](?!\()")


def _path(url: str) -> str:
    m = re.search(r"/w/[^\s#?]+", url)
    return m.group() if m else url


def _reference_list(report: str) -> dict[str, str]:
    """'[3] Title: URL', '3. [Title](URL)', '[^3]: URL' -> {'3': URL}; the last one wins."""
    out = {}
    for line in report.split("\n"):
        u = _URL.search(line)
        m = re.match(r"\s*[-*]?\s*(?:\[\^?(S?\d{1,4})\]|(S?\d{1,4})[.):])", line)
        if u and m:
            out[m.group(1) or m.group(2)] = u.group()
    return out


def _units(report: str):
    """(text, cited urls) of each sentence, bullet or table row. A citation that closes a passage covers the sentences before it."""
    refs = _reference_list(report)
    body = re.split(r"\n#{1,4}\s*(?:references|sources|bibliography|works cited)\b", report, flags=re.I)[0]
    for line in body.split("\n"):
        if not line.strip() or re.match(r"\s*(?:#|\|?\s*:?-{3,})", line):
            continue
        if (
            re.match(r"\s*[-*]?\s*\[\^?S?\d{1,4}\]:?\s.*https?://", line)
            and len(_NUM.findall(line)) == 1
            and not re.search(r"[.!?]\s*\[", line)
        ):
            continue  # a line of the reference list
        marks = []

        def mark(m):
            marks.append(m)
            return f" \u27e6{len(marks) - 1}\u27e7"

        t = re.sub(r"\(?\s*" + _LINK.pattern + r"\s*\)?", mark, line)
        t = re.sub(_NUM, mark, t)
        t = re.sub(_URL, mark, t)
        rows = []
        for piece in (
            [t]
            if line.lstrip().startswith("|")
            else re.split(r"(?<=[.!?\u27e7\"\u201d;])\s+(?=[\"'\u201c(\[*_]?[A-Z])", t)
        ):
            urls = []
            for i in re.findall("\u27e6(\\d+)\u27e7", piece):
                m = marks[int(i)]
                u = _URL.search(m.group())
                if u:
                    urls.append(u.group())
                else:
                    urls += [
                        refs[n.strip()] for n in re.sub(r"[\[\]^]", "", m.group()).split(",") if n.strip() in refs
                    ] or ["unresolved:" + m.group().strip()]
            text = re.sub("\\s*\u27e6\\d+\u27e7", "", piece).strip()
            if text:
                rows.append([text, urls])
            elif rows:
                rows[-1][1] += urls
        own = [bool(r[1]) for r in rows]
        for i in range(len(rows) - 2, -1, -1):
            if not own[i] and rows[i + 1][1]:
                rows[i][1] = list(rows[i + 1][1])
        yield from ((a, list(dict.fromkeys(b))) for a, b in rows)


def _states(text: str, name: str, keywords, value: str) -> bool:
    return (
        re.search(r"(?<![\w-])" + re.escape(name) + r"(?![\w-])", text) is not None
        and any(k.lower() in text.lower() for k in keywords)
        and re.search(r"(?<![\w.,-])" + re.escape(value) + r"(?![\w]|[.,]\d)", text) is not None
    )


def score(world, report: str, sources=(), topic: int = 0, detail: bool = False) -> dict:
    report = report or ""
    units = list(_units(report))
    facts = world.topic_facts(topic)
    right, stale = {}, {}
    cites = Counter()
    unsupported = []
    other = set()
    by_name = {}
    for f in world.facts.values():
        by_name.setdefault(f.name, []).append(f)
    names = re.compile(
        r"(?<![\w-])(" + "|".join(sorted(map(re.escape, by_name), key=len, reverse=True)) + r")(?![\w-])"
    )
    supported_facts = set()
    invented = []
    for text, urls in units:
        found = set(names.findall(text))
        for n in found:
            for f in by_name[n]:
                ok = _states(text, f.name, f.keywords, f.value)
                old = bool(f.stale_value) and not ok and _states(text, f.name, f.keywords, f.stale_value)
                if not ok and not old:
                    m = re.search(f.pattern, text)
                    if m and f.topic == topic and len(found) == 1 and m.group(1) not in (f.value, f.stale_value):
                        invented.append(text[:200])
                    continue
                if f.topic == topic:
                    (right if ok else stale).setdefault(f.id, []).append(text)
                elif ok:
                    other.add(f.id)
                val = f.value if ok else f.stale_value
                for u in urls:
                    p = world.pages.get(_path(u))
                    good = p is not None and p.facts.get(f.id) == val and p.status not in ("404", "500", "timeout")
                    cites["good" if good else "bad"] += 1
                    if good:
                        supported_facts.add((f.id, ok))
                    elif len(unsupported) < 40:
                        unsupported.append(dict(sentence=text[:160], url=u, known=p is not None))
                if not urls:
                    cites["uncited"] += 1
    hops = sorted({f.hop for f in facts})
    tot = Counter(f.hop for f in facts)
    got = Counter(f.hop for f in facts if f.id in right)
    wrong = [i for i in stale if i not in right]
    n_c = cites["good"] + cites["bad"]
    src = [s for s in dict.fromkeys(sources or []) if s]
    topical = {p.url_path for p in world.pages.values() if p.topic == topic}
    out = dict(
        recall=round(len(right) / len(facts), 4),
        right=len(right),
        facts=len(facts),
        recall_by_hop={str(h): round(got[h] / tot[h], 4) for h in hops},
        right_by_hop={str(h): got[h] for h in hops},
        wrong=len(wrong),
        stale_mentions=sum(len(v) for v in stale.values()),
        invented=len(invented),
        contradicted_facts=sum(1 for f in facts if f.stale_value),
        contradicted_right=sum(1 for f in facts if f.stale_value and f.id in right),
        off_topic_facts=len(other),
        citations=n_c,
        citation_precision=round(cites["good"] / n_c, 4) if n_c else None,
        uncited_statements=cites["uncited"],
        citation_recall=round(sum(1 for i in right if (i, True) in supported_facts) / len(right), 4) if right else None,
        words=len(report.split()),
        sources=len(src),
        sources_on_topic=sum(1 for s in src if _path(s) in topical),
        cited_urls=len({_path(u) for _, us in units for u in us}),
    )
    if detail:
        out["unsupported"] = unsupported
        out["missing"] = [f.sentence for f in facts if f.id not in right]
        out["invented_text"] = invented
    return out


def seen(world, events, topic: int = 0) -> dict:
    """Of the topic's facts, the share that stood on a page the engine received (fetched with 200, or as raw content of a search).

    seen_50k counts only the first 50,000 characters of a page, the cut both peers make.  Recall of the report divided by this is
    what the engine's own pipeline kept.
    """
    got = set()
    for e in events:
        if e["kind"] == "fetch" and e.get("status") == 200:
            got.add(e["url"])
        elif e["kind"] in ("search", "extract"):
            got.update(
                u
                for u in e.get("raw", ())
                if u in world.pages and world.pages[u].status not in ("404", "500", "timeout")
            )
    facts = world.topic_facts(topic)
    full, cut = set(), set()
    for u in got:
        p = world.pages.get(u)
        if not p:
            continue
        head = p.text[:50_000]
        for fid, v in p.facts.items():
            f = world.facts[fid]
            if f.topic == topic and v == f.value:
                full.add(fid)
                if f.text() in head:
                    cut.add(fid)
    return dict(
        pages_received=len(got), seen=round(len(full) / len(facts), 4), seen_50k=round(len(cut) / len(facts), 4)
    )
