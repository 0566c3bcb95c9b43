"""English inflection: regular rules and the exceptions that the lexicon needs."""

from __future__ import annotations

import re

_IRREGULAR_PLURALS = """
calf calves; child children; fisherman fishermen; foot feet; gentleman gentlemen; goose geese; knife knives; leaf
leaves; loaf loaves; man men; mosquito mosquitoes; mouse mice; policeman policemen; potato potatoes; scarf scarves;
shelf shelves; thief thieves; tomato tomatoes; tooth teeth; tornado tornadoes; volcano volcanoes; wife wives; wolf
wolves; woman women
"""
IRREGULAR_PLURALS = dict(entry.split() for entry in _IRREGULAR_PLURALS.split(";"))

_IRREGULAR_VERBS = """
become became become; begin began begun; bite bit bitten; bleed bled bled; break broke broken; bring brought brought;
build built built; burn burned burned; buy bought bought; catch caught caught; choose chose chosen; come came come;
creep crept crept; dig dug dug; do did done; draw drew drawn; dream dreamed dreamed; drink drank drunk; drive drove
driven; eat ate eaten; fall fell fallen; feed fed fed; feel felt felt; fight fought fought; find found found; flee
fled fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten;
give gave given; go went gone; grind ground ground; grow grew grown; hang hung hung; have had had; hear heard heard;
hide hid hidden; hold held held; keep kept kept; kneel knelt knelt; know knew known; lead led led; leave left left;
lend lent lent; lose lost lost; make made made; mean meant meant; meet met met; overtake overtook overtaken; pay paid
paid; ride rode ridden; ring rang rung; rise rose risen; run ran run; say said said; see saw seen; seek sought sought;
sell sold sold; send sent sent; sew sewed sewn; shake shook shaken; shine shone shone; shoot shot shot; show showed
shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat sat; sleep slept slept; sow sowed sown; speak
spoke spoken; spend spent spent; spin spun spun; stand stood stood; steal stole stolen; sting stung stung; strike
struck struck; sweep swept swept; swell swelled swollen; swim swam swum; swing swung swung; take took taken; teach
taught taught; tear tore torn; tell told told; think thought thought; throw threw thrown; understand understood
understood; wake woke woken; wear wore worn; weave wove woven; weep wept wept; win won won; write wrote written
"""

IRREGULAR_VERBS = {
    lemma: (past, participle) for lemma, past, participle in (entry.split() for entry in _IRREGULAR_VERBS.split(";"))
}
"""Lemma -> past tense and past participle."""

IRREGULAR_COMPARATIVES = {"bad": "worse", "far": "farther", "good": "better"}

DOUBLING = frozenset(["admit", "begin", "forget", "patrol", "permit", "prefer", "refer", "regret"])
"""Verbs of two syllables that double the last consonant, because the last syllable is stressed."""

_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|euro|one\b|once|ukulele)[aeiou]|hour|honest|honor|heir", re.IGNORECASE)
_SIBILANT = ("s", "x", "z", "ch", "sh")
_SINGLE_SYLLABLE = re.compile(r"[^aeiou]*(?:qu)?[aeiou][bdgklmnprtz]")


def inflect_plural(noun: str) -> str:
    """Return the plural of a noun."""
    return IRREGULAR_PLURALS.get(noun) or _add_s(noun)


def inflect_third_person(verb: str) -> str:
    """Return the third person singular of the present tense."""
    return {"have": "has", "go": "goes", "do": "does"}.get(verb) or _add_s(verb)


def inflect_past(verb: str) -> str:
    """Return the past tense."""
    return IRREGULAR_VERBS[verb][0] if verb in IRREGULAR_VERBS else _add_ed(verb)


def inflect_participle(verb: str) -> str:
    """Return the past participle."""
    return IRREGULAR_VERBS[verb][1] if verb in IRREGULAR_VERBS else _add_ed(verb)


def inflect_gerund(verb: str) -> str:
    """Return the -ing form."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _double(verb) + "ing"


def inflect_comparative(adjective: str) -> str:
    """Return the one-word comparative of a short adjective."""
    if adjective in IRREGULAR_COMPARATIVES:
        return IRREGULAR_COMPARATIVES[adjective]
    if adjective.endswith("e"):
        return adjective + "r"
    if _ends_in_consonant_y(adjective):
        return adjective[:-1] + "ier"
    return _double(adjective) + "er"


def choose_article(word: str) -> str:
    """Return the indefinite article that goes before a word."""
    return "an" if _VOWEL_SOUND.match(word) else "a"


def _add_s(word: str) -> str:
    if word.endswith(_SIBILANT):
        return word + "es"
    if _ends_in_consonant_y(word):
        return word[:-1] + "ies"
    return word + "s"


def _add_ed(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ied"
    return _double(verb) + "ed"


def _double(word: str) -> str:
    doubles = word in DOUBLING or _SINGLE_SYLLABLE.fullmatch(word)
    return word + word[-1] if doubles else word


def _ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in "aeiou"
