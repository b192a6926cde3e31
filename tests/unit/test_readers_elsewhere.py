"""Where a page without text sends its readers."""

import pytest

from deep_research.plugins.readers.elsewhere import elsewhere

HERE = "http://a.example/dir/page"


@pytest.mark.parametrize(
    ("markup", "target"),
    [
        ('<meta http-equiv="refresh" content="0;url=/b">', "http://a.example/b"),
        ("<META HTTP-EQUIV=Refresh CONTENT='3; URL=\"other\"'>", "http://a.example/dir/other"),
        ('<meta http-equiv="refresh" content="0.5, https://c.example/x#y">', "https://c.example/x"),
        ('<meta http-equiv="refresh" content="60;url=/b">', ""),
        ('<meta http-equiv="refresh" content="5">', ""),
        ('<meta http-equiv="refresh" content="soon;url=/b">', ""),
        ('<meta http-equiv="refresh" content="0;url=page">', ""),
        ('<meta http-equiv="refresh" content="0;url=javascript:x()">', ""),
        ('<meta http-equiv="refresh" content="0;url=file:///etc/passwd">', ""),
        ('<meta name="x" content="0"><p>iframe</p>', ""),
        ('<meta charset="utf-8"><iframe src=" "></iframe>', ""),
        ('<frameset><frame src="menu.html"><frame src="text.html"></frameset>', "http://a.example/dir/text.html"),
        ('<frameset><frame name="top" src="a"><frame name="main" src="b"><frame name="foot" src="c"></frameset>', "http://a.example/dir/b"),
        ('<iframe src="nav"></iframe>', "http://a.example/dir/nav"),
    ],
)  # fmt: skip
def test_elsewhere(markup, target):
    assert elsewhere(markup.encode(), HERE) == target
