"""Reading: names, sentences, facts and leads of any text, each with the source that stands next to it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from .words import ENGLISH

URL = re.compile(r"https?://[^\s\"'<>\])},;]+[^\s\"'<>\])},;.:!?]")
# A name: a capitalised word which is no English word (possibly numbered), or two of them (a person).
_CAPS = re.compile(r"\b[A-Z][a-z][\w\u00c0-\u024f]*(?:-\d+)?\b")
_PERSON = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_NOT_NOUN = set(
    "is was has had were are been be will would can could did does do and or but for from with on in at by to of as it its that which "
    "who whose also may might must should the a an this these those not no into under over between about after before".split()
)
BOILER = re.compile(
    r"subscrib|cookie|advert|sponsor|free articles|has been viewed|letters about|sign in|privacy|partners store|"
    r"submissions|earlier draft|rights reserved|by clicking|online now",
    re.I,
)
ASKING = re.compile(
    r"^(?:reflection recorded|so far|still named|the request concerns|given|using|based on|write|generate|extract|format|find|return|research|what|which|include|use|follow|provide)\b",
    re.I,
)
INSTRUCTION_TAGS = re.compile(
    r"task|instruct|tool|limit|guideline|format|rule|example|thinking|scal|schema|output|remind|note_to", re.I
)
QUERY_TAGS = re.compile(r"quer|question|brief|topic|goal|prompt|objective|request|user|message", re.I)


def est_tokens(text: str) -> int:
    return max(1, (len(text) + 3) // 4)


@dataclass
class Sent:
    text: str
    urls: list  # cited or standing next to it
    title: str
    date: str
    label: str  # id of the source block ("3", "S3"), if shown
    names: list  # distinctive names in it
    subject: str  # the name it is about, or ''
    fact: bool
    lead: bool
    direct: bool  # a citation stood right behind the sentence
    verbatim: str = ""


def _english(word: str) -> bool:
    w = word.lower()
    return w in ENGLISH or (w.endswith("s") and (w[:-1] in ENGLISH or w[:-3] + "y" in ENGLISH or w[:-2] in ENGLISH))


def names_in(text: str) -> list[str]:
    """Distinctive names, in order: 'Veltran-7', 'Ilsa Morvane'."""
    out = []
    taken = set()
    for m in _PERSON.finditer(text):
        a, b = m.group(1), m.group(2)
        if not _english(b) and text[m.end() : m.end() + 1] != "-":
            if not _english(a):
                out.append((m.start(), f"{a} {b}"))
                taken.update(range(m.start(), m.end()))
    for m in _CAPS.finditer(text):
        if m.start() in taken:
            continue
        if _english(m.group().split("-")[0]):
            continue
        out.append((m.start(), m.group()))
    return list(dict.fromkeys(n for _, n in sorted(out)))


def noun_after(name: str, text: str) -> str:
    """'Veltran-7' -> 'alloy' when the text says 'the Veltran-7 alloy'."""
    m = re.search(r"(?:[Tt]he )?" + re.escape(name) + r" ([a-z]{3,14})\b", text)
    if m and m.group(1) not in _NOT_NOUN and re.search(r"[Tt]he " + re.escape(name) + " " + m.group(1), text):
        return m.group(1)
    return ""


_DICT_KEY = re.compile(
    r"['\"](href|url|link|source_url|source|title|name|body|content|raw_content|snippet|text|summary|date|published|"
    r"page_content|excerpt|learning|insight|quote|claim|sourceUrl)['\"]\s*:\s*"
)
_HEADER = re.compile(
    r"^[\s\-*#>|`\"'(\[]*(?:(?:source|url|link|href|page|ref(?:erence)?|from|web ?page|document|citation|site)s?\b[\w ]{0,12}[:=]?)?[\s\W\d]*$",
    re.I,
)
_LABEL = re.compile(
    r"^[\s\-*#>|]*(?:\[?\^?(S?\d{1,4})\]|(?:source|document|result|doc|page)\s*#?\[?(S?\d{1,4})\]?|(?:id\s*[=:]\s*\"?(S?\d{1,4}))|(\d{1,4})[.)])",
    re.I,
)
_ATTR_LABEL = re.compile(r"\b(?:id|index|n|ref)=[\"']?(S?\d{1,4})", re.I)
_CITE = re.compile(
    r"\(?\[[^\]\n]{0,200}\]\((https?://[^)\s]+)\)\)?"  # ([text](url))
    r"|\[(?:source|url|ref)[^\]\n]*?(https?://[^\]\s]+)\]"  # [Source: url]
    r"|\((?:source:?\s*)?(https?://[^)\s]+)\)"  # (url)
    r"|(?<=[\w.\"\u201d) \]])\[\^?(S?\d{1,4}(?:\s*,\s*S?\d{1,4})*)\](?!\()",  # [3], [S3], [^3], [1, 2]
    re.I,
)
_SPLIT = re.compile(r"(?<=[.!?\u27e7\"\u201d])\s+(?=[\"'\u201c(\[]?[A-Z])")
AS_OF = re.compile(r"^(?:As of|In|By|Since) (\d{4}), ", re.I)


def sentence_kind(text: str):
    """(names, subject, is_fact, is_lead) of one sentence."""
    names = names_in(text)
    if not names or len(text) > 400 or BOILER.search(text) or text.rstrip().endswith("?"):
        return names, "", False, False
    core = AS_OF.sub("", text).lstrip("-*• \t\"'")
    words = core.split()
    if len(words) < 4 or not re.search(r"[.!]['\")\]]*\s*$", core):
        return names, "", False, False
    head = " ".join(words[:3])
    subject = names[0] if head.lower().startswith(("the " + names[0].lower(), names[0].lower())) else ""
    bare = core
    for n in names:
        bare = bare.replace(n, " ")
    has_value = bool(re.search(r"\d", bare)) or bool(
        re.search(r"\b(?:town|city|village) of\b|\bMedal\b|\bPrize\b", bare)
    )
    fact = bool(subject) and has_value
    lead = not fact and len(names) >= 2 or (not fact and len(names) == 1 and not re.search(r"\d", bare))
    return names, subject, fact, lead


def _prepare(text: str) -> str:
    """Lay out Python/JSON dict lists and XML tags line by line, URL first."""
    if "\\n" in text:
        text = text.replace("\\n", "\n")
    text = text.replace('\\"', '"').replace("\\'", "'")
    if _DICT_KEY.search(text):
        parts = re.split(r"(?<=\})\s*,\s*(?=\{)", text)
        out = []
        for p in parts:
            m = re.search(r"['\"](?:href|url|link|source_url|source|sourceUrl)['\"]\s*:\s*['\"](https?://[^'\"]+)", p)
            p2 = _DICT_KEY.sub(lambda k: f"\n{k.group(1)}: ", p)
            if m:
                i = p2.find("{") + 1 if "{" in p2 else 0
                p2 = p2[:i] + f"\nURL: {m.group(1)}\n" + p2[i:]
            out.append(p2)
        text = "\n".join(out)
    text = re.sub(r"(?<=[.!?\"'\w])[ \t]+((?:Source|URL): https?://)", r"\n\1", text)  # a block header in mid-line
    text = re.sub(r"(<[A-Za-z_][^<>\n]*(?:https?://|id=|index=)[^<>\n]*>)", r"\n\1\n", text)
    text = re.sub(r"(</[A-Za-z_]\w*>)", r"\n\1\n", text)
    return _unwrap(text)


_NOWRAP = re.compile(r"^\s*(?:[#\-*\[|{<>\f]|\d+[.)]|[A-Z]?[\w ]{1,20}:)|https?://")


def _unwrap(text: str) -> str:
    """Join lines wrapped in mid-sentence, as in text from a PDF."""
    out = []
    for line in text.split("\n"):
        if (
            out
            and line.strip()
            and len(out[-1]) >= 60
            and not re.search(r"[.!?:;\"'>)\]}\u201d]\s*$", out[-1])
            and not _NOWRAP.search(out[-1])
            and not _NOWRAP.search(line)
        ):
            out[-1] = out[-1].rstrip() + " " + line.strip()
        else:
            out.append(line)
    return "\n".join(out)


class Reading:
    """All sentences of a text with the source standing next to each."""

    def __init__(self, text: str):
        self.sents: list[Sent] = []
        self.sources: dict[str, dict] = {}  # url -> {title, label}
        self.label_at: list[tuple[int, str, str]] = []
        self._read(_prepare(text))

    def _read(self, text: str):
        url = title = date = label = ""
        pending = []
        for no, raw in enumerate(text.split("\n")):
            if raw == "\f":
                url = title = date = label = ""
                continue
            line = raw.strip()
            if not line or line in ("{", "}", "[", "]"):
                continue
            m = re.match(r"-{2,}\s*SOURCE (\d+)\s*:\s*(.*?)\s*-*$", line, re.I)
            if m:
                url, label, title, date = "", m.group(1), m.group(2), ""
                continue
            m = re.match(r"[\s\W]*(?:title|name)\s*[:=]\s*[\"']?(.+?)[\"',]*$", line, re.I)
            if m and not URL.search(line):
                title = m.group(1)
                if url in self.sources and not self.sources[url]["title"]:
                    self.sources[url]["title"] = title
                continue
            m = re.match(
                r"[\s\W]*(?:published|date|updated|posted|page_age)\b[\w ]{0,10}[:=]?\s*[\"']?(\d{4}-\d{2}-\d{2})",
                line,
                re.I,
            )
            if m and not URL.search(line):
                date = m.group(1)
                continue
            urls = URL.findall(line)
            if urls:
                rest = URL.sub(" ", line)
                words = re.findall(
                    r"[A-Za-z][\w-]+", re.sub(r"<\w+|\b\w+=|title|source|url|link|href|page", " ", rest, flags=re.I)
                )
                is_sentence = any(sentence_kind(s)[2] or sentence_kind(s)[3] for s in _SPLIT.split(_CITE.sub("", line)))
                if _HEADER.match(rest) or (
                    not is_sentence and len(words) < 16 and not re.search(r"[a-z]{3,}\.\s", rest)
                ):
                    u = urls[0]
                    lm = _LABEL.match(line) or _ATTR_LABEL.search(line)
                    new_label = next((g for g in lm.groups() if g), "") if lm else ""
                    if u != url:
                        if not (label and not url):  # keep label/title given just before the URL
                            label, title, date = new_label, "", ""
                    label = new_label or label
                    t = re.sub(
                        r"[\[\](){}<>|*`\"]|^\W*(?:\d{1,4}[.)\]])|\b(?:source|url|link|href|id|title)\s*[=:]",
                        " ",
                        rest,
                        flags=re.I,
                    )
                    t = re.sub(r"\s+", " ", t).strip(" -:.,\u2014'/S0123456789")
                    if len(t) > 3 and not title:
                        title = t
                    url = u
                    s = self.sources.setdefault(u, {"title": "", "label": ""})
                    s["title"] = s["title"] or title
                    s["label"] = s["label"] or label
                    if label:
                        self.label_at.append((no, label, u))
                    continue
            lm = _LABEL.match(line)
            if lm and not urls and len(line) < 120 and not re.search(r"[.!?]$", line):
                label = next(g for g in lm.groups() if g)  # "[3] Title" before its URL line
                title, url, date = line[lm.end() :].strip(" :-."), "", ""
                continue
            self._sentences(no, line, url, title, date, label, pending)
        for sent, no, nums in pending:  # numbered citations: the list that follows, else the last before
            for n in nums:
                n = n.upper() if n[0] in "sS" else n
                after = [u for at, lab, u in self.label_at if lab == n and at >= no]
                before = [u for at, lab, u in self.label_at if lab == n and at < no]
                u = after[0] if after else before[-1] if before else ""
                if u and u not in sent.urls:
                    sent.urls.insert(0, u)
                    sent.direct = True

    def _sentences(self, no, line, url, title, date, label, pending):
        cites = []

        def mark(m):
            cites.append(m)
            return f"\u27e6{len(cites) - 1}\u27e7"

        line = re.sub(
            r"^(?:body|content|raw_content|snippet|text|summary|page_content|excerpt|learning|insight|quote|claim|Content)\s*:\s*[\"']?",
            "",
            line,
        )
        line = re.sub(r"^[\s>*\-•|#]+", "", line)
        line = re.sub(r"^\d{1,3}[.)]\s+", "", line)
        marked = _CITE.sub(mark, line)
        first = len(self.sents)
        for piece in _SPLIT.split(marked):
            own = [cites[int(i)] for i in re.findall("\u27e6(\\d+)\u27e7", piece)]
            text = re.sub(r"\s*\u27e6\d+\u27e7\s*", " ", piece).strip(" |*_\"'")
            text = re.sub(r"\s+([.!?,])", r"\1", URL.sub("", text)).strip()
            if not text or len(text) < 12:
                if own and self.sents and not text:
                    pass
                else:
                    continue
            direct = [g for m in own for g in m.groups()[:3] if g]
            nums = [n.strip() for m in own if m.group(4) for n in m.group(4).split(",")]
            names, subject, fact, lead = sentence_kind(
                text if re.search(r"[.!?]$", text) else text + ("." if own else "")
            )
            urls = direct or ([url] if url and not nums else [])
            s = Sent(text, urls, title, date, label, names, subject, fact, lead, bool(direct), text)
            self.sents.append(s)
            for u in direct:
                self.sources.setdefault(u, {"title": "", "label": ""})
            if nums:
                if url and not direct:
                    s.urls = []
                pending.append((s, no, nums))
                if not s.urls and url:
                    s.fallback = url
        # a citation at the end of a passage covers the sentences before it that have none
        later = None
        for s in reversed(self.sents[first:]):
            own = next((x for x in pending if x[0] is s), None)
            if s.direct or own:
                later = (s, own)
            elif later:
                s.urls, s.direct = list(later[0].urls), later[0].direct
                if later[1]:
                    pending.append((s, no, later[1][2]))


_READ_CACHE: dict[str, Reading] = {}


def read(text: str) -> Reading:
    key = hashlib.md5(text.encode()).hexdigest()
    if key not in _READ_CACHE:
        if len(_READ_CACHE) > 64:
            _READ_CACHE.clear()
        _READ_CACHE[key] = Reading(text)
    return _READ_CACHE[key]
