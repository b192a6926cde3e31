"""The page that `report.html` is; styles inside, nothing fetched, no script."""

from string import Template
from typing import Final

PAGE: Final = Template("""\
<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>$title</title>
<style>
:root { --ink: #1b1b1f; --paper: #fdfdfb; --soft: #5d5d66; --line: #dcdce0;
  --link: #1a56a8; --warn: #a4420b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e9; --paper: #17171a; --soft: #a0a0aa; --line: #37373d;
    --link: #8ab4f8; --warn: #f0a35e; }
}
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere;
  color: var(--ink); background: var(--paper); font: 1.05rem/1.6 Georgia, serif; }
h1, h2, h3 { line-height: 1.25; font-family: system-ui, sans-serif; }
a { color: var(--link); }
a.cite { text-decoration: none; font-size: .8em; vertical-align: .25em; }
a.cite.partial, a.cite.unsupported, a.cite.conflicting { color: var(--warn); }
.status { border-left: .3rem solid var(--warn); padding-left: .8rem; }
.note, small, footer { color: var(--soft); }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .3rem .6rem; }
.usage { font-size: .85rem; } .usage .number { text-align: right; white-space: nowrap; }
.usage tfoot { font-weight: bold; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: .2rem solid var(--line); }
pre { overflow-x: auto; }
li:target { outline: .15rem solid var(--link); }
footer { margin-top: 3rem; border-top: 1px solid var(--line); font-size: .85rem; }
@media print {
  body { max-width: none; margin: 0; color: #000; background: #fff; }
  a { color: inherit; }
}
</style>
</head>
<body>
<main>
<h1>$title</h1>
$status
$notes
$body
</main>
$references
$rounds
$usage
<footer><p>$facts</p></footer>
</body>
</html>
""")
