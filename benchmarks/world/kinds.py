"""What the synthetic web is made of: kinds of things, their facts, and the sentences around them."""

from __future__ import annotations

from dataclasses import dataclass

HOSTS = ("kestrelpedia", "brightledger", "quarryindex", "openfolio", "tidewire", "northgazette", "labnotes")
MIRRORS = ("mirrorhub", "copycrate", "textfarm")

ONSET = "B Br C Cr D Dr F G Gr H J K Kr L M N P Qu R S Sk St T Th Tr V W Z Vel Kor Mar Hal Ost Bel Tor Nar Sel Vor Dun Fal Gar".split()
MIDDLE = "a e i o u ae ei or an el ir ul ov en ar is un ith and orn alb erg ild ost arv emm irr ond usk elg".split()
END = "tran vath mere dric lund quist nova than ric sen vane dell mark wyn tor lix zar phon gast bury nix dane vik reth mond lor pek".split()

FIRST = "Ilsa Anselm Maren Oswin Petra Leopold Sabine Tavish Ingrid Corwin Delphine Emeric Rosalind Benedikt Saskia Florian".split()


@dataclass(frozen=True)
class Kind:
    noun: str  # lower-case noun after the name; '' for persons
    aspect: str  # plural used in the root question
    facts: tuple  # (key, sentence template with {s} and {v}, keywords, value maker)


def _i(lo, hi):
    return lambda r: str(r.randint(lo, hi))


def _year(lo, hi):
    return lambda r: str(r.randint(lo, hi))


def _d(lo, hi, places=2):
    return lambda r: f"{r.uniform(lo, hi):.{places}f}"


KINDS = {
    "programme": Kind(
        "programme",
        "programmes",
        (
            ("start", "{s} was established in {v} by a joint charter.", ("established",), _year(1931, 1999)),
            ("budget", "{s} had an annual budget of {v} million crowns.", ("budget",), _i(113, 987)),
            ("staff", "{s} employed {v} people at its height.", ("employed",), _i(1201, 9871)),
            ("members", "{s} counted {v} member institutes.", ("member",), _i(13, 97)),
            ("lead", "{s} has its headquarters in the town of {w}.", ("headquarters",), None),
            ("end", "{s} is funded until {v} under its present mandate.", ("funded",), _year(2031, 2079)),
        ),
    ),
    "alloy": Kind(
        "alloy",
        "alloys",
        (
            ("melt", "{s} melts at {v} kelvin.", ("melts",), _i(903, 2987)),
            ("dens", "{s} has a density of {v} grams per cubic centimetre.", ("density",), _d(2.1, 19.4)),
            ("cast", "{s} was first cast in {v} after a long series of trials.", ("cast",), _year(1903, 2009)),
            ("yield", "{s} withstands {v} megapascals before it yields.", ("withstands",), _i(213, 1987)),
            ("share", "{s} contains {v} percent scandium by mass.", ("scandium",), _d(0.3, 14.9, 1)),
        ),
    ),
    "vessel": Kind(
        "vessel",
        "vessels",
        (
            ("len", "{s} measures {v} metres from bow to stern.", ("measures",), _i(41, 397)),
            ("launch", "{s} was launched in {v} from a northern yard.", ("launched",), _year(1921, 2021)),
            ("range", "{s} has a range of {v} nautical miles.", ("range",), _i(1807, 19870)),
            ("crew", "{s} carries a crew of {v} sailors and scientists.", ("crew",), _i(17, 211)),
            ("speed", "{s} reaches a top speed of {v} knots.", ("speed",), _d(11, 43, 1)),
        ),
    ),
    "observatory": Kind(
        "observatory",
        "observatories",
        (
            ("alt", "{s} stands {v} metres above sea level.", ("stands",), _i(1203, 5870)),
            ("open", "{s} opened in {v} after a decade of construction.", ("opened",), _year(1911, 2019)),
            ("mirror", "{s} houses a primary mirror of {v} metres.", ("mirror",), _d(1.2, 39.8, 1)),
            ("nights", "{s} enjoys {v} clear nights in a typical year.", ("clear nights",), _i(151, 341)),
        ),
    ),
    "process": Kind(
        "process",
        "processes",
        (
            ("temp", "{s} runs at {v} degrees Celsius.", ("runs",), _i(203, 1870)),
            ("yield", "{s} reaches a yield of {v} percent.", ("yield",), _d(31, 98, 1)),
            ("patent", "{s} was patented in {v} by a small workshop.", ("patented",), _year(1901, 2015)),
            ("time", "{s} takes {v} minutes from charge to discharge.", ("takes",), _i(17, 871)),
        ),
    ),
    "company": Kind(
        "works",
        "companies",
        (
            ("found", "{s} was founded in {v} as a family firm.", ("founded",), _year(1871, 1999)),
            ("rev", "{s} reported revenue of {v} million crowns in its latest accounts.", ("revenue",), _i(107, 4870)),
            ("emp", "{s} has a workforce of {v} people.", ("workforce",), _i(203, 19870)),
            ("seat", "{s} is based in the town of {w}.", ("based",), None),
        ),
    ),
    "person": Kind(
        "",
        "people",
        (
            ("born", "{s} was born in {v} in a coastal village.", ("born",), _year(1891, 1989)),
            ("papers", "{s} wrote {v} scientific papers.", ("papers",), _i(31, 487)),
            ("prize", "{s} received the {w} Medal for lifetime work.", ("received",), None),
            ("lab", "{s} directed a laboratory of {v} researchers.", ("directed",), _i(13, 297)),
        ),
    ),
    "reactor": Kind(
        "reactor",
        "reactors",
        (
            ("power", "{s} delivers {v} megawatts of heat.", ("delivers",), _i(31, 2870)),
            ("crit", "{s} first went critical in {v} during a winter test.", ("critical",), _year(1951, 2019)),
            ("flow", "{s} circulates {v} kilograms of coolant per second.", ("coolant",), _i(103, 9870)),
            ("rods", "{s} uses {v} control rods.", ("control rods",), _i(17, 211)),
        ),
    ),
    "bacterium": Kind(
        "bacterium",
        "organisms",
        (
            ("genome", "{s} has a genome of {v} million base pairs.", ("genome",), _d(1.1, 12.9)),
            ("opt", "{s} grows best at {v} degrees Celsius.", ("grows",), _d(11, 94, 1)),
            ("found", "{s} was isolated in {v} from a deep spring.", ("isolated",), _year(1921, 2019)),
            ("depth", "{s} survives at a depth of {v} metres.", ("survives",), _i(203, 9870)),
        ),
    ),
    "probe": Kind(
        "probe",
        "probes",
        (
            ("mass", "{s} weighs {v} kilograms at launch.", ("weighs",), _i(103, 7870)),
            ("orbit", "{s} circles at an altitude of {v} kilometres.", ("altitude",), _i(203, 39870)),
            ("watt", "{s} draws {v} watts from its panels.", ("watts",), _i(103, 9870)),
            ("year", "{s} was commissioned in {v} after vibration tests.", ("commissioned",), _year(1971, 2023)),
        ),
    ),
    "bridge": Kind(
        "bridge",
        "bridges",
        (
            ("span", "{s} spans {v} metres between its towers.", ("spans",), _i(211, 2870)),
            ("done", "{s} was completed in {v} at the second attempt.", ("completed",), _year(1891, 2019)),
            ("cost", "{s} cost {v} million crowns to build.", ("cost",), _i(31, 2870)),
            ("load", "{s} carries {v} vehicles on an average day.", ("vehicles",), _i(1203, 98700)),
        ),
    ),
    "crystal": Kind(
        "crystal",
        "crystals",
        (
            ("hard", "{s} has a hardness of {v} on the Mohs scale.", ("hardness",), _d(2, 9.8, 1)),
            ("lattice", "{s} has a lattice constant of {v} angstroms.", ("lattice",), _d(2.1, 12.9, 3)),
            ("grown", "{s} was first grown in {v} in a sealed furnace.", ("grown",), _year(1911, 2019)),
            ("index", "{s} shows a refractive index of {v} in red light.", ("refractive",), _d(1.3, 3.4, 3)),
        ),
    ),
}
HOP_KINDS = [k for k in KINDS if k != "programme"]

LEADS = (
    "{p} depends on {c} for part of its work.",
    "Much of what {p} does rests on {c}, which has an entry of its own.",
    "Engineers close to {p} point to {c} as an essential part of the effort.",
    "{p} would not be possible without {c}, described elsewhere.",
    "A separate account covers {c}, on which {p} draws heavily.",
)
FILLER = (
    "The early years were marked by patient work and little public notice.",
    "Observers disagree about how much of the credit belongs to any one group.",
    "Maintenance is carried out in the quiet season, when visitors are few.",
    "Local newspapers followed the story for a while and then moved on.",
    "Several attempts were abandoned before a workable arrangement emerged.",
    "The surrounding landscape has changed a great deal since then.",
    "Students often encounter the subject in their second year of study.",
    "Much of the archive has been scanned and can be consulted on request.",
    "Opinions differ on whether the original approach would be chosen today.",
    "A modest exhibition explains the background to a general audience.",
    "The documentation is thorough in some places and thin in others.",
    "Funding came from several sources, none of them decisive on its own.",
    "Critics have called the method cautious, while supporters call it sound.",
    "There is a long tradition of craft behind what looks like routine.",
    "Weather, supply and simple luck all played their part.",
    "The terminology has shifted over time, which confuses newcomers.",
    "Comparable efforts elsewhere took a different route with mixed results.",
    "Most of the practical knowledge was passed on by word of mouth.",
    "The question of long-term storage has never been fully settled.",
    "Visitors are usually surprised by how quiet the place is.",
    "Reports from that period are written in a dry and careful style.",
    "A good deal of effort goes into keeping records consistent.",
    "The design favours simple parts that can be replaced by hand.",
    "Later reviews confirmed the outline but corrected many details.",
)
MENTION = (
    "People who work with {s} tend to describe it in plain terms.",
    "Much has been written about {s}, not all of it careful.",
    "Those who know {s} well usually speak of it with some caution.",
    "The reputation of {s} rests on many small decisions.",
    "Newcomers to {s} are advised to read widely before they judge.",
    "A photograph of {s} hangs in more than one office.",
    "The story of {s} has been told in several ways.",
    "Questions about {s} reach the editors from time to time.",
)
NUM_FILLER = (
    "Readers sent in more than {n} letters about an earlier version of this page.",
    "This page has been viewed {n} times since it was moved to the new server.",
    "The photograph above was chosen from {n} submissions.",
    "An earlier draft ran to {n} words and was shortened for clarity.",
)
NAV = (
    "Home",
    "News",
    "Archive",
    "About us",
    "Contact",
    "Careers",
    "Press",
    "Shop",
    "Events",
    "Podcast",
    "Gallery",
    "Support",
)
ADS = (
    "Advertisement: save {n} percent on garden furniture this week only.",
    "Sponsored: meet singles in your area, {n} online now.",
    "Subscribe now for only {n} crowns a month and read without limits.",
    "You have {n} free articles left this month. Sign in to continue.",
)
COOKIES = (
    "We and our {n} partners store cookies on your device to personalise content and measure audiences.",
    "By clicking accept you consent to the processing of your personal data for the purposes listed below.",
    "You may change your privacy settings at any time in the preference centre.",
)
