"""The words of the embedded grammar except the verbs: nouns by sense, adjectives that fit them, names.

Within a list, the earlier a word stands, the more often it is chosen (Zipf-like).
Left out on purpose: nouns whose singular and plural look alike (sheep, fish), so that every number label is certain.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from probing.corpus.grammar.inflection import choose_article, inflect_comparative, inflect_plural
from probing.corpus.readers import Tree

T = TypeVar("T")
Random = Callable[[], float]
"""Function that returns a random number from 0 to 1."""

HE, SHE, IT, THEY, ME, WE, YOU = range(7)
"""Pronouns by which a noun phrase is mentioned again."""

COMMA: Tree = (",", ",")
STOP: Tree = (".", ".")
AND: Tree = ("CC", "and")
NOT: Tree = ("RB", "not")
THE: Tree = ("DT", "the")
TO: Tree = ("TO", "to")
WHAT: Tree = ("WHNP", (("WP", "what"),))
WHEN: Tree = ("WHADVP", (("WRB", "when"),))
WHO: Tree = ("WHNP", (("WP", "who"),))


class Choice(Generic[T]):
    """A weighted choice among items, precomputed so that a draw is one bisection."""

    __slots__ = ("_bounds", "items")

    def __init__(self, items: Iterable[T], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        *bounds, total = accumulate(weights)
        self._bounds = [bound / total for bound in bounds]

    def __call__(self, random: Random) -> T:
        return self.items[bisect(self._bounds, random())]


def zipf(items: Sequence[T], shift: float = 4.0) -> Choice[T]:
    """Return a choice in which the item of rank r has weight 1 / (r + shift)."""
    return Choice(items, [1.0 / (rank + shift) for rank in range(1, len(items) + 1)])


def weigh(weights: Mapping[T, float]) -> Choice[T]:
    """Return a choice among a mapping's keys by its values."""
    return Choice(weights, weights.values())


def list_leaves(tag: str, words: str) -> list[Tree]:
    """Return a leaf for each word."""
    return [(tag, word) for word in words.split()]


def zipf_leaves(tag: str, words: str, *, label: str = "") -> Choice[Tree]:
    """Return a Zipf-like choice among words, as leaves or, with a label, as phrases of one leaf."""
    leaves = list_leaves(tag, words)
    return zipf([(label, (leaf,)) for leaf in leaves] if label else leaves)


class Noun(NamedTuple):
    """A common noun: its leaves, the article before it, and its pronoun."""

    singular: Tree
    plural: Tree
    article: Tree
    pronoun: int | None
    """Pronoun HE, SHE or IT; None for a person of either sex."""


class Adjective(NamedTuple):
    """An adjective: its leaf, the article before it, and its one-word comparative."""

    leaf: Tree
    article: Tree
    comparative: Tree
    """Comparative in one word; an empty leaf if the adjective has none."""
    gradable: bool
    """Whether the adjective has degrees, as in `very old`."""


# fmt: off
_NOUNS = {
    "person": "man/m woman/f teacher boy/m girl/f doctor friend mother/f child farmer father/m brother/m sister/f "
        "king/m queen/f student neighbor soldier nurse driver artist writer singer lawyer captain sailor guard thief "
        "baker cook actor dancer painter hunter prince/m princess/f uncle/m aunt/f son/m daughter/f grandmother/f "
        "grandfather/m husband/m wife/f waiter/m clerk judge engineer pilot poet priest/m monk/m tailor gardener "
        "merchant servant stranger visitor guest traveler officer detective reporter librarian scientist professor "
        "dentist plumber carpenter butcher shepherd fisherman/m knight/m wizard/m witch/f pirate player coach manager "
        "secretary tourist widow/f cousin nephew/m niece/f scholar mayor juggler barber translator architect",
    "animal": "dog cat horse bird cow lion bear wolf rabbit pig goat tiger elephant monkey duck goose mouse fox snake "
        "donkey camel turtle frog owl eagle parrot squirrel puppy kitten lamb hen rooster whale dolphin shark "
        "crocodile zebra giraffe kangaroo penguin swan crow falcon hedgehog otter",
    "food": "apple cake sandwich egg potato tomato carrot onion pie cookie banana orange pear peach lemon pancake "
        "sausage burger salad biscuit pudding steak omelet muffin cherry plum melon pumpkin cucumber pepper mushroom "
        "pretzel waffle dumpling walnut turnip",
    "tool": "hammer knife rope ladder shovel broom bucket needle brush drill axe fork spoon torch lantern candle "
        "screwdriver wrench rake hook chisel spade mop sponge comb pan pot kettle stick chain",
    "vehicle": "car bus truck boat ship bicycle van taxi tractor wagon motorcycle plane helicopter ferry tram canoe "
        "sled carriage cart scooter ambulance jeep yacht minivan",
    "room": "house garden kitchen school forest village room town city park office church library hospital hotel "
        "castle palace barn cave shop restaurant museum theater station cellar attic valley prison tower factory yard "
        "field cabin temple bakery cottage tent desert jungle stable hut mansion",
    "ground": "hill roof beach bridge street road island mountain farm balcony terrace porch platform shore meadow "
        "path pier",
    "furniture": "table chair bed desk shelf sofa bench stool counter couch armchair wardrobe",
    "container": "box bag basket drawer bottle jar suitcase chest barrel sack crate cupboard trunk purse wallet",
    "clothing": "hat coat shirt dress jacket scarf glove sweater skirt boot sock belt cap apron robe uniform costume "
        "gown blouse cloak sandal cape shawl mitten",
    "document": "book letter map story poem newspaper report diary contract article novel magazine essay recipe "
        "postcard menu manual notebook dictionary certificate document invitation pamphlet script leaflet",
    "body": "hand head arm leg foot face nose ear finger knee shoulder elbow thumb chin cheek neck wrist ankle",
    "plant": "tree rose flower bush oak vine tulip lily fern hedge pine orchid daisy sunflower willow maple shrub",
    "music": "violin piano guitar flute drum trumpet harp cello clarinet banjo accordion trombone",
    "idea": "plan idea problem question answer secret rule law reason mistake decision promise theory lesson dream "
        "opinion method solution suggestion proposal argument warning rumor threat excuse belief principle memory "
        "prediction complaint",
    "event": "party meeting wedding war game race concert trip journey lecture festival battle ceremony election "
        "contest funeral parade holiday performance trial picnic conference tournament exam rehearsal auction",
    "treasure": "coin ring jewel diamond necklace watch crown painting statue medal pearl bracelet vase gem gift "
        "prize toy doll sword mirror",
    "device": "radio computer phone camera clock lamp machine television fan printer telescope heater oven stove "
        "elevator microscope speaker",
    "nature": "storm fire flood earthquake blizzard tornado hurricane avalanche landslide",
}

_MASS_NOUNS = {
    "drink": "water tea milk coffee wine juice beer lemonade cider cocoa",
}

_ADJECTIVES = {
    "person": "old young happy tall sad tired kind angry famous poor rich clever lazy brave lonely hungry nervous "
        "honest proud polite quiet friendly busy careful cruel gentle wise shy calm jealous curious stubborn cheerful "
        "greedy humble generous patient foolish anxious weary",
    "animal": "big wild small hungry young tame brown fast gray fierce clever sleepy playful noisy fat gentle "
        "dangerous thirsty furry timid obedient",
    "food": "fresh sweet hot tasty ripe delicious cold salty warm sour juicy spicy stale crispy bitter rotten",
    "tool": "heavy sharp useful long rusty small broken wooden sturdy dull handy",
    "vehicle": "new fast red slow expensive empty old blue cheap yellow noisy crowded white modern rusty reliable",
    "room": "large small quiet dark beautiful empty cold old ancient famous crowded narrow warm modern gloomy tidy "
        "peaceful remote abandoned",
    "ground": "steep narrow quiet green wide sunny windy lonely rocky snowy muddy",
    "furniture": "wooden comfortable low broken old narrow elegant round brown soft dusty sturdy",
    "container": "heavy empty small big wooden full square sealed dusty",
    "clothing": "red blue warm black new white dirty green clean expensive torn elegant wet yellow tight loose woolen "
        "pink fancy",
    "document": "long short interesting old boring famous important useful secret difficult funny strange serious "
        "thick brief lengthy detailed",
    "body": "cold strong long broken warm swollen sore dirty stiff",
    "plant": "green tall beautiful dry wild small pretty healthy lovely thorny leafy",
    "music": "old new expensive loud wooden cheap antique",
    "idea": "good new simple strange bad clever important difficult dangerous silly wonderful serious obvious terrible "
        "brilliant useful absurd sensible vague reasonable",
    "event": "long wonderful short exciting boring important terrible famous annual noisy brief peaceful memorable "
        "dreadful splendid",
    "treasure": "golden old precious beautiful valuable tiny silver expensive rare shiny lovely fake antique",
    "device": "new modern expensive broken old cheap useful small electric noisy portable reliable",
    "nature": "terrible sudden violent great huge fierce severe",
    "drink": "hot cold fresh warm sweet bitter strong",
}

_SHORT = (
    "old young happy tall sad kind angry poor rich lazy brave lonely hungry proud quiet friendly busy wise shy "
    "calm greedy big small fast fat sleepy noisy sweet hot tasty cold warm long heavy sharp slow cheap large "
    "dark narrow steep wide low soft tiny short simple strange bad good clean dirty strong dry pretty lovely "
    "loud"
)
"""Adjectives with a one-word comparative."""

_ABSOLUTE = (
    "wooden golden silver woolen broken annual electric antique fake empty full square round abandoned sealed torn "
    "portable secret"
)
"""Adjectives without degrees."""

_MEN = (
    "Tom John Peter Paul David James Henry George Robert Martin Simon Oliver Daniel Victor Walter Albert Edward Frank "
    "Arthur Leo Hugo Felix Oscar Adam Eric Philip Ralph Samuel Theodore Vincent"
)
_WOMEN = (
    "Mary Anna Sarah Emma Lucy Julia Alice Laura Helen Clara Nora Sophie Emily Rachel Diana Rosa Ellen Irene Martha "
    "Judith Grace Olivia Paula Vera Agnes Beatrice Edith Flora Harriet Matilda"
)
_SURNAMES = (
    "Smith Brown Miller Wilson Taylor Carter Cooper Parker Turner Walker Bennett Collins Foster Griffin Hudson Jenkins "
    "Lambert Norris Palmer Quinn Russell Sanders Tucker Watson"
)
_TITLES = {"Mr.": HE, "Mrs.": SHE, "Doctor": None, "Captain": None, "Uncle": HE, "Aunt": SHE, "Professor": None}
_CITIES = (
    "London Paris Rome Berlin Boston Madrid Vienna Chicago Dublin Lisbon Cairo Athens Prague Toronto Sydney Moscow "
    "Warsaw Naples Geneva Oslo Helsinki Tokyo Delhi Lima Havana Venice Zurich Seville Bristol Denver"
)
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS = "January February March April June July August September October November December"
_NUMBERS = "two three four five six seven ten eight nine twelve twenty eleven thirty fifty forty sixty ninety"
# fmt: on


def _noun(sense: str, entry: str) -> Noun:
    word, _, sex = entry.partition("/")
    pronoun = {"m": HE, "f": SHE, "": None if sense == "person" else IT}[sex]
    return Noun(("NN", word), ("NNS", inflect_plural(word)), ("DT", choose_article(word)), pronoun)


def _adjective(word: str) -> Adjective:
    comparative = inflect_comparative(word) if word in _SHORT.split() else ""
    gradable = word not in _ABSOLUTE.split()
    return Adjective(("JJ", word), ("DT", choose_article(word)), ("JJR", comparative), gradable)


NOUNS = {
    sense: zipf([_noun(sense, entry) for entry in words.split()]) for sense, words in (_NOUNS | _MASS_NOUNS).items()
}
MASS = frozenset(_MASS_NOUNS)
PLURAL_CHANCES = dict.fromkeys(NOUNS, 0.5) | {"room": 0.25, "ground": 0.25, "nature": 0.25, "event": 0.35, "drink": 0.0}
ADJECTIVES = {sense: zipf([_adjective(word) for word in words.split()]) for sense, words in _ADJECTIVES.items()}
COMPARABLE = {
    sense: zipf(comparable)
    for sense, choice in ADJECTIVES.items()
    if (comparable := [adjective for adjective in choice.items if adjective.comparative[1]])
}
"""Sense -> adjectives with a comparative, for the senses that have any."""

PEOPLE: Choice[tuple[Tree, int]] = zipf(
    [
        (("NNP", name), pronoun)
        for names in zip(_MEN.split(), _WOMEN.split(), strict=True)
        for name, pronoun in zip(names, (HE, SHE), strict=True)
    ],
    shift=8.0,
)
SURNAMES = zipf(list_leaves("NNP", _SURNAMES), shift=8.0)
TITLES: Choice[tuple[Tree, int | None]] = zipf([(("NNP", title), sex) for title, sex in _TITLES.items()])
CITIES = zipf(list_leaves("NNP", _CITIES), shift=8.0)
WEEKDAYS = zipf(list_leaves("NNP", _WEEKDAYS))
MONTHS = zipf(list_leaves("NNP", _MONTHS))
NUMBERS = zipf(list_leaves("CD", _NUMBERS), shift=1.0)
UNITS = zipf_leaves("NNS", "days weeks years months hours minutes")
"""Units of time."""
YEARS: Choice[Tree] = zipf([("CD", str(year)) for year in range(2012, 1932, -2)], shift=12.0)
