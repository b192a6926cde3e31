"""Seeded synthetic web.

A *topic* is a tree of entities: one root programme (hop 0), the things it
depends on (hop 1), the things those depend on (hop 2), and so on to hop 3.
Each entity has a few *facts*; a fact is one natural sentence with a unique
subject and value ("The Veltran-7 alloy melts at 1843 kelvin.").  A parent's
pages name its children in *lead* sentences ("The hull depends on the
Veltran-7 alloy.") but a child's pages normally do not name the parent, so a
child must be searched for by its own name: that is what makes it multi-hop.

Every fact is on 1-3 living pages.  Around them: near duplicates, boilerplate,
stale pages with an older, wrong value (both dated), dead pages (404, 500,
timeout), slow and flaky pages, huge pages, non-UTF-8 pages and one PDF.

The same parameters always give the same world, byte for byte.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field

from .kinds import END, FILLER, FIRST, HOP_KINDS, HOSTS, KINDS, LEADS, MENTION, MIDDLE, MIRRORS, NUM_FILLER, ONSET
from .words import ENGLISH


class Names:
    """Unique invented words, none of them an English word."""

    def __init__(self, rng: random.Random):
        self.rng, self.used = rng, set()

    def word(self) -> str:
        while True:
            w = (self.rng.choice(ONSET) + self.rng.choice(MIDDLE) + self.rng.choice(END)).capitalize()
            if 6 <= len(w) <= 11 and w.lower() not in self.used and w.lower() not in ENGLISH:
                self.used.add(w.lower())
                return w


@dataclass
class Fact:
    id: str
    topic: int
    entity: str  # entity id
    subject: str  # name as written, with its noun ("The Veltran-7 alloy")
    name: str  # distinctive name ("Veltran-7")
    hop: int
    sentence: str  # true sentence, without a date prefix
    pattern: str  # regex with one group where the value stands
    value: str
    keywords: tuple
    stale_value: str = ""
    stale_year: int = 0
    right_year: int = 0

    def text(self, stale: bool = False) -> str:
        """The sentence as it is written on a page."""
        if not self.stale_value:
            return self.sentence
        s = self.sentence.replace(self.value, self.stale_value, 1) if stale else self.sentence
        year = self.stale_year if stale else self.right_year
        return f"As of {year}, {s[0].lower() + s[1:] if s.startswith('The ') else s}"


@dataclass
class Entity:
    id: str
    topic: int
    hop: int
    kind: str
    name: str  # "Veltran-7" or "Ilsa Morvane"
    full: str  # "the Veltran-7 alloy" or "Ilsa Morvane"
    parent: str = ""
    children: list = field(default_factory=list)
    facts: list = field(default_factory=list)


@dataclass
class Page:
    url_path: str  # "/w/host.example/slug"
    host: str
    title: str
    date: str
    paragraphs: list  # main text
    kind: str  # entity|news|stale|mirror|filler|overview|huge|pdf
    topic: int = -1
    status: str = "ok"  # ok|404|500|timeout|slow|flaky
    encoding: str = "utf-8"
    declare: str = "header"  # header|meta: where a non-UTF-8 charset is declared
    boiler: bool = False
    facts: dict = field(default_factory=dict)  # fact id -> value stated here
    names: list = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(self.paragraphs)


def capitalised(s: str) -> str:
    return s[0].upper() + s[1:]


class World:
    """The whole synthetic web for one seed."""

    def __init__(
        self,
        seed: int = 1,
        topics: int = 4,
        pages: int = 500,
        hop1: int = 6,
        hop2: int = 2,
        hop3: int = 1,
        conflict: float = 0.18,
        dead: float = 0.10,
        backlink: float = 0.25,
    ):
        self.params = dict(
            seed=seed,
            topics=topics,
            pages=pages,
            hop1=hop1,
            hop2=hop2,
            hop3=hop3,
            conflict=conflict,
            dead=dead,
            backlink=backlink,
        )
        self.seed = seed
        self.rng = random.Random(f"world-{seed}")
        self.names = Names(self.rng)
        self.entities: dict[str, Entity] = {}
        self.facts: dict[str, Fact] = {}
        self.pages: dict[str, Page] = {}
        self.roots: list[str] = []
        self._values: set[str] = set()
        self._leads: dict[str, list[str]] = {}
        for t in range(topics):
            self._topic(t, hop1, hop2, hop3)
        self._confusables()
        for t in range(topics):
            self._topic_pages(t, conflict, dead, backlink)
        self._filler(pages)

    # -- entities and facts -------------------------------------------------
    def _entity(self, topic, hop, kind, parent="") -> Entity:
        r = self.rng
        if kind == "person":
            name = f"{r.choice(FIRST)} {self.names.word()}"
            full = name
        else:
            name = self.names.word() + (f"-{r.randint(2, 19)}" if kind in ("alloy", "reactor", "probe") else "")
            full = f"the {name} {KINDS[kind].noun}"
        e = Entity(f"e{len(self.entities)}", topic, hop, kind, name, full, parent)
        self.entities[e.id] = e
        if parent:
            self.entities[parent].children.append(e.id)
        return e

    def _value(self, make):
        for _ in range(200):
            v = make(self.rng)
            if v not in self._values or len(v) == 4 and v[0] in "12":
                break
        self._values.add(v)
        return v

    def _facts(self, e: Entity, n: int):
        r = self.rng
        rows = list(KINDS[e.kind].facts)
        r.shuffle(rows)
        for _, tpl, kws, make in rows[:n]:
            subj = capitalised(e.full)
            v = self.names.word() if make is None else self._value(make)
            sent = tpl.format(s=subj, v=v, w=v)
            # the subject may be written with a lower-case "the" after "As of 2019,"
            pat = (
                re.escape(tpl.format(s="\0", v="\1", w="\1"))
                .replace("\0", re.escape(subj))
                .replace("\1", r"([\w.,-]+?)")
            )
            f = Fact(f"f{len(self.facts)}", e.topic, e.id, subj, e.name, e.hop, sent, pat, v, kws)
            self.facts[f.id] = f
            e.facts.append(f.id)

    def _topic(self, t, hop1, hop2, hop3):
        r = self.rng
        root = self._entity(t, 0, "programme")
        self.roots.append(root.id)
        self._facts(root, 6)
        kinds = r.sample(HOP_KINDS, hop1) if hop1 <= len(HOP_KINDS) else r.choices(HOP_KINDS, k=hop1)
        for k in kinds:
            e1 = self._entity(t, 1, k, root.id)
            self._facts(e1, 4)
            for _ in range(hop2):
                e2 = self._entity(t, 2, r.choice(HOP_KINDS), e1.id)
                self._facts(e2, 3)
                for _ in range(hop3):
                    e3 = self._entity(t, 3, r.choice(HOP_KINDS), e2.id)
                    self._facts(e3, 2)

    def _confusables(self):
        """Numbered names of one topic get look-alikes in another (Veltran-7 / Veltran-9)."""
        numbered = [e for e in self.entities.values() if "-" in e.name]
        for e in list(numbered)[:: max(1, len(numbered) // 6)]:
            other = [
                o
                for o in self.entities.values()
                if o.topic != e.topic and o.kind == e.kind and "-" in o.name and not getattr(o, "_twin", False)
            ]
            if not other:
                continue
            o = self.rng.choice(other)
            o._twin = e._twin = True
            base, num = e.name.rsplit("-", 1)
            new = f"{base}-{int(num) + self.rng.randint(20, 60)}"
            old_subj = capitalised(o.full)
            o.full = o.full.replace(o.name, new)
            for fid in o.facts:
                f = self.facts[fid]
                f.sentence = f.sentence.replace(old_subj, capitalised(o.full))
                f.pattern = f.pattern.replace(re.escape(old_subj), re.escape(capitalised(o.full)))
                f.subject, f.name = capitalised(o.full), new
            o.name = new

    # -- pages --------------------------------------------------------------
    def _slug(self, s):
        return re.sub(r"[^a-z0-9]+", "-", s.lower()).strip("-")

    def _add(self, host, slug, title, paragraphs, kind, topic, facts, names, **kw) -> Page:
        base = f"/w/{host}.example/{slug}"
        path, i = base, 2
        ext = ".pdf" if kind == "pdf" else ""
        while path + ext in self.pages:
            path, i = f"{base}-{i}", i + 1
        date = (
            kw.pop("date", None)
            or f"{self.rng.randint(2022, 2025)}-{self.rng.randint(1, 12):02d}-{self.rng.randint(1, 28):02d}"
        )
        p = Page(path + ext, host, title, date, paragraphs, kind, topic, facts=facts, names=names, **kw)
        self.pages[p.url_path] = p
        return p

    def _para(self, sentences, fill=3):
        """One paragraph: the given sentences among filler."""
        r = self.rng
        out = [r.choice(FILLER) for _ in range(fill)]
        if r.random() < 0.15:
            out.append(r.choice(NUM_FILLER).format(n=r.randint(100, 99999)))
        for s in sentences:
            out.insert(r.randint(0, len(out)), s)
        return " ".join(out)

    def _write(self, items, size=(2500, 8000), about=""):
        """Paragraphs of about `size` characters in all: the items, one to three to a paragraph, among paragraphs of filler.

        Filler makes up most of a page, as on the real web; one filler paragraph in five also names the page's subject.
        """
        r = self.rng
        target = r.triangular(size[0], size[1], size[0] + (size[1] - size[0]) * 0.3)
        items, paras = list(items), []
        while items:
            k = r.randint(1, 3)
            paras.append(self._para(items[:k], r.randint(2, 3)))
            items = items[k:]
        while sum(map(len, paras)) < target:
            paras.insert(
                r.randint(0, len(paras)),
                self._para([r.choice(MENTION).format(s=about)] if about and r.random() < 0.2 else [], r.randint(3, 6)),
            )
        return paras

    def _leads_of(self, e: Entity):
        r = self.rng
        return [capitalised(r.choice(LEADS).format(p=e.full, c=self.entities[c].full)) for c in e.children]

    def _topic_pages(self, t, conflict, dead, backlink):
        r = self.rng
        ents = [e for e in self.entities.values() if e.topic == t]
        pdf_for = r.choice([e for e in ents if e.hop in (1, 2)]).id
        huge_for = {e.id for e in r.sample([e for e in ents if e.hop in (1, 2)], 2)}
        states = ("404", "500", "flaky", "404", "slow", "timeout", "404", "500", "flaky", "404")
        n_dead = round(dead * 2 * len(ents))
        dying = {e.id: states[i % len(states)] for i, e in enumerate(r.sample(ents, min(n_dead, len(ents))))}
        for e in ents:
            facts = [self.facts[f] for f in e.facts]
            # contradictions: an older, wrong value on a dated page
            for f in facts:
                if r.random() < conflict and re.fullmatch(r"[\d.]+", f.value):
                    for _ in range(50):
                        v = float(f.value) * r.choice((0.9, 0.93, 1.06, 1.11))
                        v = f"{v:.{len(f.value.split('.')[1])}f}" if "." in f.value else str(round(v))
                        if re.search(r"\bin \d{4} |until \d{4}", f.sentence):  # a year stays a plausible year
                            v = str(int(f.value) + r.choice((-6, -3, 2, 4)))
                        if v != f.value and v not in self._values:
                            break
                    self._values.add(v)
                    f.stale_value, f.stale_year, f.right_year = v, r.randint(2008, 2016), r.randint(2021, 2025)
            leads = self._leads_of(e)
            r.shuffle(facts)
            cut = max(1, round(len(facts) * 0.6))
            main, rest = facts[:cut], facts[cut:]
            two = r.random() < 0.5
            title = capitalised(e.full)
            back = []
            if e.parent and r.random() < backlink:
                back = [f"The link between {self.entities[e.parent].full} and {e.full} is discussed in several places."]

            def page(host, title, fs, leads, kind="entity", size=(2500, 8000), stale=(), **kw):
                items = [f.text(stale=f.id in stale) for f in fs] + leads
                r.shuffle(items)
                paras = self._write(items, size, e.full)
                ff = {f.id: (f.stale_value if f.id in stale else f.value) for f in fs}
                return self._add(host, self._slug(title), title, paras, kind, t, ff, [e.name], **kw)

            hosts = list(HOSTS)
            r.shuffle(hosts)
            lead_main = leads if not two else leads[: (len(leads) + 1) // 2]
            lead_rest = [] if not two else leads[(len(leads) + 1) // 2 :]
            p1 = page(
                hosts[0],
                title,
                main,
                lead_main + back,
                boiler=r.random() < 0.25,
                encoding="cp1252" if r.random() < 0.08 else "utf-8",
                declare=r.choice(("header", "meta")),
            )
            kind2 = "pdf" if e.id == pdf_for else "huge" if e.id in huge_for else "entity"
            extra = [f for f in main if r.random() < 0.3]
            p2 = page(
                hosts[1],
                f"{title}: figures and background",
                rest + extra,
                lead_rest,
                kind=kind2,
                boiler=r.random() < 0.25,
            )
            if kind2 == "huge":
                self._inflate(p2)
            if r.random() < 0.35:
                third = r.sample(facts, min(2, len(facts)))
                page(hosts[2], f"Notes on {e.full}", third, [], size=(1200, 3500), boiler=r.random() < 0.4)
            stale = [f for f in facts if f.stale_value]
            if stale:
                page(
                    hosts[3],
                    f"{title} revisited",
                    stale,
                    [],
                    kind="stale",
                    size=(1200, 3000),
                    stale={f.id for f in stale},
                    date=f"{r.randint(2009, 2016)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}",
                )
            if r.random() < 0.22:  # near duplicate on a mirror
                m = self._add(
                    r.choice(MIRRORS),
                    self._slug(title),
                    f"{title} (mirror)",
                    list(p1.paragraphs),
                    "mirror",
                    t,
                    dict(p1.facts),
                    [e.name],
                    date=p1.date,
                )
                m.paragraphs[-1] += " This copy was syndicated with permission."
            if e.id in dying:  # a further copy which search lists, but which is dead, slow or flaky
                st = dying[e.id]
                d = self._add(
                    hosts[4],
                    self._slug(title),
                    f"{title} - full report",
                    list(p1.paragraphs),
                    "entity",
                    t,
                    dict(p1.facts) if st in ("flaky", "slow") else {},
                    [e.name],
                    status=st,
                )
                d.paragraphs[0] = r.choice(FILLER) + " " + d.paragraphs[0]
        # overview and news pages over several entities
        root = self.entities[self.roots[t]]
        for hop in (1, 2):
            group = [e for e in ents if e.hop == hop]
            for i in range(0, len(group), 3):
                part = group[i : i + 3]
                fs = [self.facts[r.choice(e.facts)] for e in part]
                par = self.entities[part[0].parent]
                items = [f.text() for f in fs]
                self._add(
                    r.choice(HOSTS),
                    self._slug(f"roundup {par.name} {i} {hop}"),
                    f"A round-up around {par.full}" if hop == 1 else f"Field notes: {part[0].full} and others",
                    self._write(items, (2000, 5000)),
                    "news",
                    t,
                    {f.id: f.value for f in fs},
                    [e.name for e in part],
                )
        self._add(
            r.choice(HOSTS),
            self._slug(f"what is {root.name}"),
            f"What is {root.full}?",
            self._write(
                [f"This short introduction to {root.full} is meant for general readers.", *self._leads_of(root)[:3]],
                (1500, 3500),
                root.full,
            ),
            "overview",
            t,
            {},
            [root.name],
        )

    def _inflate(self, p: Page):
        """Make a page huge: half of its paragraphs stand beyond character 50,000."""
        half = len(p.paragraphs) // 2 or 1
        pad = [self._para([], 8) for _ in range(130)]
        tail = [self._para([], 8) for _ in range(200)]
        p.paragraphs = p.paragraphs[:half] + pad + p.paragraphs[half:] + tail
        p.kind = "huge"

    def _filler(self, pages):
        """Off-topic and search-bait pages up to the wanted number."""
        r = self.rng
        n = 0
        nouns = [k.noun or "people" for k in KINDS.values()]
        while len(self.pages) < pages:
            n += 1
            noun = r.choice(nouns)
            title = r.choice(
                ("Top ten {} stories", "How to choose a {}", "The future of the {}", "Beginner's guide to the {}")
            ).format(noun)
            paras = self._write([], (1500, 6000))
            paras[0] = f"Everything you wanted to know about the {noun} but never asked. " + paras[0]
            self._add(
                r.choice(HOSTS + MIRRORS),
                f"{self._slug(title)}-{n}",
                title,
                paras,
                "filler",
                -1,
                {},
                [],
                boiler=r.random() < 0.5,
            )

    # -- questions ----------------------------------------------------------
    def question(self, topic: int = 0) -> str:
        root = self.entities[self.roots[topic]]
        aspects = list(dict.fromkeys(KINDS[self.entities[c].kind].aspect for c in root.children))
        return (
            f"Give a thorough, sourced account of {root.full}: its history, budget and organisation, the "
            f"{', '.join(aspects[:-1])} and {aspects[-1]} it depends on, and what those in turn depend on, "
            f"with exact figures and dates."
        )

    def topic_facts(self, topic: int = 0) -> list[Fact]:
        return [f for f in self.facts.values() if f.topic == topic]

    def truth(self, topic: int = 0) -> dict:
        """What a perfect report on the topic would contain."""
        pages = [p for p in self.pages.values() if p.status not in ("404", "500", "timeout")]
        on = {}
        for p in pages:
            for fid, v in p.facts.items():
                if v == self.facts[fid].value:
                    on.setdefault(fid, []).append(p.url_path)
        return {
            "question": self.question(topic),
            "facts": [
                dict(
                    id=f.id, hop=f.hop, sentence=f.sentence, value=f.value, stale=f.stale_value, pages=on.get(f.id, [])
                )
                for f in self.topic_facts(topic)
            ],
        }

    def summary(self) -> dict:
        return dict(
            params=self.params,
            pages=len(self.pages),
            entities=len(self.entities),
            facts=len(self.facts),
            kinds=dict(Counter(p.kind for p in self.pages.values())),
            status=dict(Counter(p.status for p in self.pages.values())),
            encodings=dict(Counter(p.encoding for p in self.pages.values())),
            topic0_facts_by_hop=dict(Counter(f.hop for f in self.topic_facts(0))),
            topic0_contradictions=sum(1 for f in self.topic_facts(0) if f.stale_value),
            chars=sum(len(p.text) for p in self.pages.values()),
        )
