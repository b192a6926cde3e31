"""A page as bytes: HTML in its own encoding, PDF, and the clean text that a good extractor returns."""

from __future__ import annotations

import html as h
import random

from .content import Page, World, capitalised
from .kinds import ADS, COOKIES, NAV


def html(p: Page, world: World, seed: int) -> bytes:
    """The page as HTML bytes in its own encoding."""
    r = random.Random(f"{seed}-{p.url_path}")
    out = ["<!doctype html><html lang=en><head>"]
    if p.encoding != "utf-8" and p.declare == "meta":
        out.append('<meta charset="windows-1252">')
    elif p.encoding == "utf-8":
        out.append('<meta charset="utf-8">')
    out.append(f"<title>{h.escape(p.title)}</title></head><body>")

    def n():
        return r.randint(2, 900)

    if p.boiler:
        out.append(
            "<header><nav><ul>" + "".join(f"<li><a href='/{x}'>{x}</a></li>" for x in NAV * 3) + "</ul></nav></header>"
        )
        out.append("<div class='cookie-banner'>" + "".join(f"<p>{c.format(n=n())}</p>" for c in COOKIES) + "</div>")
        out.append("<aside class='ad'>" + "".join(f"<p>{a.format(n=n())}</p>" for a in ADS) + "</aside>")
        out.append("<script>var tracking = {id: 12345}; console.log('x');</script>" * 5)
    else:
        out.append("<nav><a href='/'>Home</a> <a href='/about'>About</a></nav>")
    accent = " Caf\u00e9 r\u00e9sum\u00e9 \u2013 na\u00efve \u201cfa\u00e7ade\u201d." if p.encoding != "utf-8" else ""
    out.append(
        f"<main><article><h1>{h.escape(p.title)}</h1><p class='meta'>Published: {p.date} on {p.host}.example{accent}</p>"
    )
    for i, para in enumerate(p.paragraphs):
        out.append(f"<p>{h.escape(para, quote=False)}</p>")
        if p.boiler and i % 2 == 1:
            out.append(f"<div class='promo'><p>{r.choice(ADS).format(n=n())}</p></div>")
    out.append("</article></main>")
    if p.boiler:
        others = r.sample(sorted(world.entities), 5)
        out.append(
            "<aside class='related'><h3>Related stories</h3><ul>"
            + "".join(
                f"<li><a href='#'>{h.escape(capitalised(world.entities[o].full))} explained</a></li>" for o in others
            )
            + "</ul></aside>"
        )
        out.append(
            "<div class='comments'>"
            + "".join(f"<p>User{n()}: Great read, thanks for sharing.</p>" for _ in range(12))
            + "</div>"
        )
    out.append("<footer><p>All rights reserved. Terms of use. Privacy policy.</p></footer></body></html>")
    return "\n".join(out).encode(p.encoding, "replace")


def extracted(p: Page) -> str:
    """Clean text as a good extractor (or Tavily's raw_content) would return it."""
    return f"{p.title}\nPublished: {p.date} on {p.host}.example\n\n" + p.text


def pdf(p: Page) -> bytes:
    """A small, valid one-font PDF holding the page's text."""
    lines = []
    for para in [p.title, f"Published: {p.date} on {p.host}.example"] + p.paragraphs:
        cur = ""
        for w in para.split():
            if len(cur) + len(w) + 1 > 88:
                lines.append(cur)
                cur = w
            else:
                cur = f"{cur} {w}".strip()
        lines += [cur, ""]
    chunks = [lines[i : i + 52] for i in range(0, len(lines), 52)]

    def esc(s):
        return s.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")

    objs = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for ch in chunks:
        body = "BT /F1 10 Tf 50 790 Td 14 TL\n" + "\n".join(f"({esc(x)}) Tj T*" for x in ch) + "\nET"
        data = body.encode("latin-1", "replace")
        objs.append(b"<< /Length %d >>\nstream\n" % len(data) + data + b"\nendstream")
        objs.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>"
            % len(objs)
        )
        kids.append(len(objs))
    objs[1] = ("<< /Type /Pages /Kids [%s] /Count %d >>" % (" ".join(f"{k} 0 R" for k in kids), len(kids))).encode()
    out, offs = bytearray(b"%PDF-1.4\n"), []
    for i, o in enumerate(objs, 1):
        offs.append(len(out))
        out += b"%d 0 obj\n" % i + o + b"\nendobj\n"
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objs) + 1) + b"".join(b"%010d 00000 n \n" % x for x in offs)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objs) + 1, xref)
    return bytes(out)
