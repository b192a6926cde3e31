"""Pages in front of a page (script checks, consent, log-in, pay) or in its place: no sources."""

from __future__ import annotations

import re
from typing import Final

from deep_research.core.text import sentences

from .markup import weight

_REST: Final = 200
"""Weight of text beside the wall's own words from which a page is an article with a banner."""
_LONGEST: Final = 4000
"""Weight of text from which a page is no wall, whatever it speaks of."""

# What only a wall says, by kind; each kind in several languages.
_SAYS: Final = {
    "it asks for JavaScript": (
        r"(?:enable|activate|turn on|allow|requires?|needs?|without) (?:\w+ ){0,3}java ?script",
        r"java ?script (?:\w+ ){0,4}(?:disabled|required|enabled|turned off|supported|available)",
        r"(?:activer|activez|aktivieren sie|habilit\w+|attiva\w*) (?:\w+ )?java ?script",
        r"(?:включите|启用|啟用|開啟) ?java ?script",
        r"java ?script ?(?:を有効|aktivieren|отключен)",
    ),
    "it checks for robots": (
        r"^just a moment\b|attention required",
        r"checking (?:if the site|your browser|the site connection)",
        r"verif(?:y|ying|ies) (?:that )?(?:you|your|if you)\b|are you a (?:robot|human)",
        r"you are (?:not a robot|human)",
        r"complete the (?:captcha|security check|challenge)|solve (?:the|this) captcha",
        r"unusual (?:traffic|activity) from",
        r"needs to review the security|you have been blocked",
        r"(?:enable|allow) (?:\w+ )*cookies to continue",
        r"access (?:to this page )?(?:has been |is )?(?:denied|blocked)\b",
        r"request (?:was |has been )?blocked",
        r"press (?:&|and) hold|permission to (?:access|view) (?:this|\")",
        r"^(?:403|error 403|error 1020)\b|^forbidden$",
        r"automated (?:access|requests?|queries)|请完成安全验证|人机验证|ロボットではありません",
        r"подтвердите, что вы не робот",
    ),
    "it asks for consent to cookies": (
        r"(?:we|partners|(?:web)?site|page) (?:\w+ ){0,4}(?:uses?|using|store) (?:\w+ ){0,4}cookie",
        r"(?:accept|reject|allow|decline|manage|agree to|consent to) (?:\w+ ){0,3}cookies",
        r"cookie (?:settings|preferences|consent)",
        r"(?:we|i) (?:value|respect|care about) your privacy|your privacy (?:matters|choices)",
        r"before you continue to",
        r"(?:accept|reject) all|legitimate interest|verwenden (?:wir )?(?:\w+ )*cookies",
        r"cookies (?:akzeptieren|zustimmen)",
        r"utilis(?:e|ons) (?:\w+ )*cookies|(?:usamos|utilizamos|utiliza) (?:\w+ )*cookies",
        r"cookieを(?:使用|利用)|使用cookie",
    ),
    "it asks for a log-in or a subscription": (
        r"(?:please|must|need to|have to|required to) (?:\w+ ){0,3}(?:log|sign)[ -]?(?:in|on|up)\b",
        r"(?:log|sign) ?in (?:to|or|with|for) ",
        r"(?:subscribe|register|sign up|join) (?:\w+ ){0,4}(?:to|and) (?:continue|read|keep|view)",
        r"(?:subscribe|register|sign up|join) (?:\w+ ){0,4}(?:to|for) (?:access|unlock|full|un)",
        r"to (?:continue|keep) reading|continue reading (?:this|with|your)",
        r"(?:for|to|by) (?:\w+ )?(?:subscribers|members) only",
        r"(?:subscriber|member)s?[- ]only",
        r"already (?:a|have) (?:\w+ ){0,2}(?:member|subscriber|account|subscription)",
        r"become a (?:member|subscriber)",
        r"(?:reached|exceeded|used up) (?:\w+ ){0,3}limit|free articles? (?:left|remaining|this)",
        r"unlock this|(?:an?|your) account to (?:continue|view|read)",
        r"bitte (?:\w+ )*(?:anmelden|einloggen)|melden sie sich an|jetzt abonnieren",
        r"nur für abonnenten|mit .{0,20}\babo\b.{0,20}lesen",
        r"connectez-vous|abonnez-vous|réservé (?:à nos|aux) abonnés|inici[ae] sesión",
        r"suscr[ií]b\w+ para|请登录|請登入|登录后|ログインしてください|会員限定",
        r"войдите|оформите подписку|только для подписчиков",
    ),
    "it says that nothing is there": (
        r"page (?:\w+ ){0,6}(?:not|n't|n’t) (?:be |exist|found|available)|page not found",
        r"(?:error )?404\b.{0,20}not found|^(?:error )?404(?: error)?$|not found on this server",
        r"(?:page|content|article|link|document|post) (?:\w+ ){0,6}no longer (?:exists?|available)",
        r"seite (?:\w+ ){0,3}nicht gefunden",
        r"page (?:est )?introuvable|página no (?:encontrada|existe)|страница не найдена",
        r"页面不存在|ページが見つかりません",
    ),
    "its address is for sale": (
        r"domain (?:\w+ ){0,3}(?:for sale|expired|parked)|buy this domain|parked (?:free|domain)",
        r"domain (?:steht|ist) zu(?:m| verkauf)|this domain (?:may be|is) (?:available|registered)",
    ),
}
# What walls also say, and others too: explains a sentence away, proves nothing.
_SMALL_TALK: Final = (
    r"cookie|consent|privacy|partners|vendors|\bterms\b|personali[sz]ed|advertis|preferences",
    r"\boptions\b|your device|\bids?\b",
    r"log ?in|sign ?in|sign ?up|subscri|account|password|e-?mail|member|premium|free trial",
    r"unlimited|read (?:the )?(?:full|more)",
    r"browser|reload|refresh|java ?script|robot|human|captcha|cloudflare|ray id|security|secure",
    r"\bip\b|proceed|website owner|blocked",
    r"please wait|redirect|supported|reference #|click|button|support|help|\bloading\b",
    r"datenschutz|einstellung|zustimm|einwillig",
    r"confidentialité|consentement|privacidad|隐私|同意|登录|登入|订阅|會員|会員|プライバシー",
    r"подписк|аккаунт",
)
_WALLS: Final = {kind: re.compile("|".join(says), re.IGNORECASE) for kind, says in _SAYS.items()}
_TALK: Final = re.compile("|".join(_SMALL_TALK), re.IGNORECASE)


def find_wall(text: str, title: str = "") -> str:
    """Return what kind of wall a page is, in words, or '' if it has text of its own.

    A page is a wall if it says what only walls say, and what remains without the sentences of a
    wall is next to nothing. So an article keeps its cookie banner, and a page about cookies stays.
    """
    if weight(text) > _LONGEST:
        return ""
    lines = [line for a, b in sentences(text) for line in text[a:b].splitlines()]
    counts = dict.fromkeys(_WALLS, 0)
    rest = 0
    for line in lines:
        kinds = [kind for kind, says in _WALLS.items() if says.search(line)]
        for kind in kinds:
            counts[kind] += 1
        if not kinds and not _TALK.search(line):
            rest += weight(line)
    named = {kind for kind, says in _WALLS.items() if says.search(title)}
    kind = max(counts, key=lambda k: counts[k] + (k in named))
    # A title that says so leaves less doubt.
    room = 3 * _REST if kind in named else _REST
    return kind if counts[kind] + (kind in named) and rest < room else ""
