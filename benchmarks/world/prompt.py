"""Understanding one chat request: the question, the facts of its context, the things named but not explained."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, deque
from dataclasses import dataclass

from .reading import AS_OF, ASKING, INSTRUCTION_TAGS, QUERY_TAGS, URL, Sent, names_in, noun_after, read


@dataclass
class Finding:
    text: str
    subject: str
    urls: list
    title: str
    label: str
    names: list
    direct: bool
    date: str = ""


def _key(text: str, names) -> str:
    t = AS_OF.sub("", text)
    t = re.sub(r"^the ", "", t.strip(), flags=re.I).lower()
    for n in names:
        t = t.replace(n.lower(), f"\0{n.lower().replace('-', '_')}")
    return re.sub(r"(?<![\w\0_])\d[\d.,]*", "#", t).strip(" .")


_QUERY_PATTERNS = [
    r"original (?:user )?(?:query|question)\s*:\s*(.+)",
    r"initial query\s*:\s*(.+)\Z",
    r"results for the query\s*'(.+?)',",
    r"answering the query\s*:\s*\"(.+?)\"\s*\n",
    r"(?:following )?(?:query or task|task|query|question)\s*:\s*\"(.+?)\"",
    r"<(?:query|question|topic|goal|brief)>\s*(.+?)\s*</",
    r"(?:^|\n)\s*task\s*:\s*(.+)",
    r"(?:^|\n)\s*prompt\s*:\s*(.+)\Z",
    r"(?:^|\n)[#*\s]*(?:(?:main |root |original |overall |sub-?|research |user(?:'s)? |current |the |branch )*"
    r"(?:question|query|topic|goal|objective|request|brief|task)s?)\**\s*[:=]\s*\**\s*(.+)",
]


class Prompt:
    """One chat request, read: instruction, question, context, facts and leads."""

    def __init__(self, body: dict):
        self.body = body
        self.messages = body.get("messages") or []
        self.texts = [(m.get("role", "user"), _content(m)) for m in self.messages]
        self.system = "\n".join(t for r, t in self.texts if r in ("system", "developer"))
        self.user = "\n".join(t for r, t in self.texts if r == "user")
        self.tool = "\n\f\n".join(t for r, t in self.texts if r == "tool")
        self.all = "\n\f\n".join(t for _, t in self.texts)  # \f: a new message, where no source block carries over
        self.digest = hashlib.md5(self.all.encode()).hexdigest()
        self.regions = self._regions()
        self.question = self._question()
        self.q_names = self._question_names()
        self._facts = None

    # regions in tags: [(tag, text)]
    def _regions(self):
        return [
            (m.group(1), m.group(0) if m.group(2) else m.group(3))
            for m in re.finditer(  # a tag's attributes (id, url) belong to its text
                r"<([A-Za-z_][\w \-]{1,40}?)(\s+[\w-]+=[^<>]*)?>(.*?)</\1>", self.system + "\n" + self.user, re.S
            )
        ]

    def _question(self) -> str:
        cands = [
            t.strip()
            for tag, t in self.regions
            if QUERY_TAGS.search(tag)
            and not INSTRUCTION_TAGS.search(tag)
            and names_in(URL.sub("", t))
            and len(t) < 6000
        ]
        if cands:
            return cands[0]
        for text in (self.user, self.system):
            for pat in _QUERY_PATTERNS:
                flags = re.I | (re.S if "\\Z" in pat or r"\n\s*\n" in pat else 0)
                for m in re.finditer(pat, text, flags):
                    q = m.group(1).strip().strip("\"'")
                    if names_in(URL.sub("", q[:3000])):
                        return q[:3000]
        users = [t for r, t in self.texts if r == "user" and t.strip()]
        if not users:
            return self.system[:1500]
        first = users[0]
        return first if len(first) < 2500 else first[:900] + "\n" + first[-900:]

    def _question_names(self) -> list[str]:
        """Names in the question; those only under 'previous/already' come last."""
        q = URL.sub(" ", self.question)
        done, first, rest = [], [], []
        for line in q.split("\n"):
            old = re.match(r"\s*[-*]?\s*(?:previous|already|completed|explored|past|done|known)\b", line, re.I)
            for sent in re.split(r"(?<=[.?!])\s+", line):
                ns = names_in(sent)  # what a sentence asks about comes first in it
                if old:
                    done += ns
                else:
                    first += ns[:1]
                    rest += ns[1:]
        fresh = list(dict.fromkeys(first + rest))
        explored = self._explored()
        late = [n for n in dict.fromkeys(done) if n not in fresh]
        return [n for n in fresh if n not in explored] + [n for n in fresh if n in explored] + late

    def _explored(self) -> set[str]:
        """Names in lists of past queries that the prompt shows ('already searched: ...')."""
        out = set()
        for m in re.finditer(
            r"(?:already|previous(?:ly)?|past|tried|explored|visited|covered|earlier)\b[^\n:.]{0,60}"
            r"\b(?:quer(?:y|ies)|search(?:es|ed)?|questions?|topics?|explored|asked|done|covered)\b[^\n:.]{0,40}:[ \t]*"
            r"((?:[^\n]*\n?)(?:[ \t]*(?:[-*\u2022\"'\[]|\d+[.)])[^\n]*\n?)*)",
            self.all,
            re.I,
        ):
            out.update(names_in(URL.sub(" ", m.group(1))))
        return out

    # context text: tool messages and tagged regions if there are any, else everything
    def context_text(self) -> str:
        parts = [self.tool] if self.tool.strip() else []
        for tag, t in self.regions:
            if not INSTRUCTION_TAGS.search(tag) and len(t) > 60:
                parts.append(t)
        if sum(len(p) for p in parts) > 200 and not (
            not self.tool.strip()
            and all(
                QUERY_TAGS.search(t) and not re.search("find|content|context|source|learn", t, re.I)
                for t, x in self.regions
                if len(x) > 60
            )
        ):
            return "\n\f\n".join(parts)
        return self.all

    def analyse(self):
        if self._facts is not None:
            return self
        ctx = self.context_text()
        rd = self.reading = read(ctx)
        if not any(s.fact or s.lead for s in rd.sents) and len(ctx) < 400:
            rd = self.reading = read(self.all)
        attributed = [s for s in rd.sents if s.fact and (s.urls or getattr(s, "fallback", ""))]
        facts = attributed or [s for s in rd.sents if s.fact]
        groups: dict[str, list] = {}
        for s in facts:
            groups.setdefault(_key(s.text, s.names), []).append(s)
        self._facts, self.conflicts = [], []
        for g in groups.values():
            vals = {}
            for s in g:
                bare = AS_OF.sub("", s.text)
                for n in s.names:
                    bare = bare.replace(n, " ")
                vals.setdefault(tuple(re.findall(r"\d[\d.,]*\d|\d", bare)), []).append(s)
            best = max(vals.values(), key=lambda ss: (max(_year_of(s) for s in ss), len(ss)))
            if len(vals) > 1:
                self.conflicts.append((best[0], [s for v in vals.values() if v is not best for s in v]))
            urls = list(dict.fromkeys(u for s in best for u in (s.urls or [getattr(s, "fallback", "")]) if u))
            s = best[0]
            self._facts.append(
                Finding(s.text, s.subject, urls, s.title, s.label, s.names, any(x.direct for x in best), s.date)
            )
        self.leads = [s for s in rd.sents if s.lead and not ASKING.search(s.text) and 1 < len(s.names) < 5]
        # distance of each name from the question's names
        adj: dict[str, set] = {}
        for s in [x for x in rd.sents if x.fact] + self.leads:
            for a in s.names:
                adj.setdefault(a, set()).update(n for n in s.names if n != a)
        # who depends on whom, as the sentences say it
        self.children: dict[str, list] = {}
        for s in self.leads:
            if len(s.names) == 2 and not re.search(r"\b(?:link|relation|connection)s? between\b|\band\b", s.text):
                a, b = s.names
                if re.search(r"\bon which\b|\bneeded by\b|\bused by\b|\brelied on by\b", s.text):
                    a, b = b, a
                if b not in self.children.setdefault(a, []):
                    self.children[a].append(b)
        parents: dict[str, list] = {}
        for a, cs in self.children.items():
            for c in cs:
                parents.setdefault(c, []).append(a)
        self.parents = parents
        up, todo = set(), list(self.q_names[:1])
        while todo:
            for a in parents.get(todo.pop(), ()):
                if a not in up and a not in self.q_names:
                    up.add(a)
                    todo.append(a)
        self.up = up
        self.dist = {}
        dq = deque()
        for n in self.q_names:
            self.dist[n] = 0
            dq.append(n)
        while dq:
            a = dq.popleft()
            for b in sorted(adj.get(a, ())):
                if b not in self.dist:
                    self.dist[b] = self.dist[a] + 1
                    dq.append(b)
        counts = Counter(f.subject for f in self._facts)
        self.counts = counts
        order = {}
        for s in self.leads:
            for n in s.names:
                order.setdefault(n, len(order))
        lead_names = [n for n in order if n in self.dist or not self.q_names]
        self.open = sorted(
            [n for n in lead_names if counts[n] == 0 and n not in up and self._is_thing(n)],
            key=lambda n: (n in self.q_names, self.dist.get(n, 9), order[n]),
        )
        self.weak = sorted(
            [n for n in lead_names if counts[n] == 1 and n not in up and self._is_thing(n)],
            key=lambda n: (self.dist.get(n, 9), order[n]),
        )
        return self

    def _is_thing(self, n: str) -> bool:
        """Research leads are persons and named things, not towns or medals."""
        return " " in n or bool(noun_after(n, self.all))

    def full(self, n: str) -> str:
        noun = noun_after(n, self.all)
        return f"{n} {noun}".strip()

    def facts(self, limit=None, loose=False):
        """Relevant facts, nearest to the question first."""
        self.analyse()
        fs = self._facts
        if self.q_names and any(f.subject in self.dist for f in fs):
            scope = set(self.dist)
            if loose:  # what the engine hands over as findings is in scope, and what hangs on it
                todo = [f.subject for f in fs if f.direct or not f.urls]
                while todo:
                    n = todo.pop()
                    if n not in scope or n in (f.subject for f in fs if f.direct):
                        scope.add(n)
                        todo += [c for c in self.children.get(n, ()) if c not in scope]
            near = [f for f in fs if f.subject in scope]
        else:
            near = list(fs)
        near.sort(key=lambda f: self.dist.get(f.subject, 50))
        return near[:limit] if limit else near

    def parent_of(self, n: str) -> str:
        """The thing that depends on n, as the text says it: the one nearest to the question."""
        ps = [x for x in self.parents.get(n, ()) if x != n]
        return min(ps, key=lambda x: self.dist.get(x, 9)) if ps else ""


def _year_of(s: Sent) -> int:
    m = AS_OF.match(s.text)
    if m:
        return int(m.group(1))
    return int(s.date[:4]) if s.date else 0


def _content(m: dict) -> str:
    c = m.get("content")
    if isinstance(c, list):
        return "\n".join(p.get("text", "") for p in c if isinstance(p, dict))
    return c or ""
