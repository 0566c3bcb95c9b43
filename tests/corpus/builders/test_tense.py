"""The tense of a main clause, in the constructions of several languages."""

from __future__ import annotations

import pytest

from probing.corpus.builders.dependency_graph import DependencyGraph
from probing.corpus.builders.tense import label_tense
from probing.corpus.readers import ParsedSentence

PAST, PRES = "Mood=Ind/Tense=Past/VerbForm=Fin", "Mood=Ind/Tense=Pres/VerbForm=Fin"
PARTICIPLE = "Tense=Past/VerbForm=Part"
ACTIVE, CONDITIONAL = "Tense=Past/VerbForm=Part/Voice=Act", "Mood=Cnd/VerbForm=Fin"
TURKISH_PAST, TURKISH_PRES = "Mood=Ind/Person=3/Tense=Past", "Mood=Ind/Person=3/Tense=Pres"
PERFECT = "a past participle with an auxiliary"
WITH_INFINITIVE = "an infinitive with an auxiliary"
NOT_INDICATIVE = "the main verb is not indicative"
NO_TENSE = "the main verb has no tense"
FUTURE = "the main verb is a future"
BARE = "an auxiliary without features"
OPEN = "an auxiliary and a verb whose features do not show their tense"


def find(text: str) -> object:
    """Return the tense of words like `form/tag/head/relation/Feature=Value/…`."""
    rows = [word.split("/") for word in text.split()]
    sentence = ParsedSentence(
        tokens=tuple(row[0] for row in rows),
        tags=tuple(row[1] for row in rows),
        heads=tuple(int(row[2]) for row in rows),
        relations=tuple(row[3] for row in rows),
        features=tuple(dict(pair.split("=") for pair in row[4:]) for row in rows),
    )
    return label_tense(DependencyGraph(sentence))


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        (f"She/PRON/2/nsubj Left/VERB/0/root/{PAST}", ("PAST", "left")),
        (f"She/PRON/2/nsubj leaves/VERB/0/root/{PRES}", ("PRES", "leaves")),
        ("Elle/PRON/2/nsubj partait/VERB/0/root/Mood=Ind/Tense=Imp/VerbForm=Fin", ("PAST", "partait")),
        ("Elle/PRON/2/nsubj partira/VERB/0/root/Mood=Ind/Tense=Fut/VerbForm=Fin", FUTURE),
        # a treebank without VerbForm marks a finite verb by mood or person, and one without Mood by VerbForm
        ("Er/PRON/2/nsubj kam/VERB/0/root/Mood=Ind/Tense=Past", ("PAST", "kam")),
        ("O/PRON/2/nsubj geldi/VERB/0/root/Person=3/Tense=Past/Evident=Fh", ("PAST", "geldi")),
        ("Она/PRON/2/nsubj пришла/VERB/0/root/Tense=Past/VerbForm=Fin", ("PAST", "пришла")),
        ("Gesehen/VERB/0/root/Tense=Past", NO_TENSE),
        (f"Gone/VERB/0/root/{PARTICIPLE}", "the main verb is a participle"),
        ("Go/VERB/0/root", NO_TENSE),
        ("A/X/0/root B/X/0/root", "several roots"),
    ],
)
def test_the_main_verb_itself(text: str, tense: object) -> None:
    assert find(text) == tense


@pytest.mark.parametrize("mood", ["Imp", "Sub", "Cnd", "Opt", "Nec", "Gen", "GenPot", "Gen,Nec", "Des"])
def test_only_the_indicative_has_a_tense(mood: str) -> None:
    assert find(f"Verb/VERB/0/root/Mood={mood}/Tense=Pres/VerbForm=Fin") == NOT_INDICATIVE
    assert find(f"Verb/VERB/0/root/Mood={mood}/Tense=Past/Person=3") == NOT_INDICATIVE
    assert find(f"a/AUX/2/aux/Mood={mood}/Tense=Past/Person=3 b/VERB/0/root/VerbForm=Inf") == NOT_INDICATIVE


@pytest.mark.parametrize("form", ["möchte", "Würde", "sei", "könnten"])
def test_german_subjunctives_that_a_treebank_does_not_mark(form: str) -> None:
    assert find(f"Er/PRON/3/nsubj {form}/AUX/3/aux/{PAST} gehen/VERB/0/root/VerbForm=Inf") == NOT_INDICATIVE


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        (f"She/PRON/3/nsubj is/AUX/3/cop/{PRES} happy/ADJ/0/root", ("PRES", "is")),
        (f"She/PRON/3/nsubj was/AUX/3/aux/{PAST} going/VERB/0/root/Tense=Pres/VerbForm=Part", ("PAST", "was")),
        (f"It/PRON/3/nsubj is/AUX/3/aux:pass/{PRES} done/VERB/0/root/{PARTICIPLE}", ("PRES", "is")),
        (f"Er/PRON/3/nsubj wird/AUX/3/aux:pass/{PRES} gesehen/VERB/0/root/VerbForm=Part", ("PRES", "wird")),
        ("Er/X/3/nsubj wurde/AUX/3/aux:pass/Mood=Ind/Tense=Past gesehen/VERB/0/root/Tense=Past", ("PAST", "wurde")),
        (
            f"is/AUX/3/aux/{PRES} being/AUX/3/aux:pass/Tense=Pres/VerbForm=Part done/VERB/0/root/{PARTICIPLE}",
            ("PRES", "is"),
        ),
        (f"Он/X/3/nsubj был/AUX/3/aux:pass/{PAST} взят/VERB/0/root/{PARTICIPLE}/Voice=Pass", ("PAST", "был")),
        (f"She/PRON/3/nsubj does/AUX/3/aux/{PRES} sleep/VERB/0/root/VerbForm=Inf", ("PRES", "does")),
        (f"She/PRON/3/nsubj did/AUX/3/aux/{PAST} sleep/VERB/0/root/VerbForm=Inf", ("PAST", "did")),
    ],
)
def test_an_auxiliary_outranks_the_main_verb(text: str, tense: object) -> None:
    assert find(text) == tense


@pytest.mark.parametrize("tense", ["Pres", "Past", "Imp"])
@pytest.mark.parametrize(
    "rest",
    [
        f"gone/VERB/0/root/{PARTICIPLE}",
        "gegangen/VERB/0/root/VerbForm=Part",
        "gegangen/VERB/0/root/Tense=Past",
        "tehnyt/VERB/0/root/VerbForm=Part/PartForm=Past/Voice=Act",
        f"been/AUX/3/aux/{PARTICIPLE} going/VERB/0/root/Tense=Pres/VerbForm=Part",
        f"été/AUX/3/aux:pass/{PARTICIPLE} fait/VERB/0/root/{PARTICIPLE}",
        f"been/AUX/3/cop/{PARTICIPLE} ill/ADJ/0/root",
    ],
)
def test_the_perfect_and_the_pluperfect_have_no_label_in_any_language(tense: str, rest: str) -> None:
    head = 1 + len(rest.split())
    assert find(f"aux/AUX/{head}/aux/Mood=Ind/Tense={tense}/VerbForm=Fin {rest}") == PERFECT


def test_a_finnish_passive_with_an_auxiliary_is_a_perfect() -> None:
    participle = "tehty/VERB/0/root/VerbForm=Part/PartForm=Past/Voice=Pass"
    assert find(f"on/AUX/2/aux:pass/{PRES} {participle}") == PERFECT


@pytest.mark.parametrize("tense", ["Pres", "Past"])
@pytest.mark.parametrize(
    "rest",
    [
        "kommen/VERB/0/root/VerbForm=Inf",
        "kommen/VERB/0/root",
        "krank/ADJ/0/root sein/AUX/2/cop/VerbForm=Inf",
        "gesehen/VERB/0/root/VerbForm=Part werden/AUX/2/aux:pass/VerbForm=Inf",
    ],
)
def test_modal_verbs_and_the_future_have_no_label(tense: str, rest: str) -> None:
    assert find(f"aux/AUX/2/aux/Mood=Ind/Tense={tense}/VerbForm=Fin {rest}") == WITH_INFINITIVE


def test_a_modal_passive_of_finnish_has_no_label() -> None:
    assert find(f"voidaan/AUX/2/aux:pass/{PRES} nähdä/VERB/0/root/VerbForm=Inf") == WITH_INFINITIVE


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        # the participle is the ordinary past
        (f"Muž/NOUN/2/nsubj Přišel/VERB/0/root/{ACTIVE}", ("PAST", "přišel")),
        (f"Muž/NOUN/3/nsubj byl/AUX/3/cop/{ACTIVE} doma/ADV/0/root", ("PAST", "byl")),
        (f"Přišel/VERB/0/root/{ACTIVE} jsem/AUX/1/aux/{PRES} domů/ADV/1/advmod", PERFECT),
        (f"Byl/AUX/3/cop/{ACTIVE} jsem/AUX/3/aux/{PRES} doma/ADV/0/root", PERFECT),
        (f"Přišel/VERB/0/root/{ACTIVE} by/AUX/1/aux/{CONDITIONAL} domů/ADV/1/advmod", NOT_INDICATIVE),
        (f"Přišedší/ADJ/2/amod/{ACTIVE} muž/NOUN/0/root", NO_TENSE),
        (f"Пришедший/VERB/0/root/{ACTIVE}/Case=Nom", "the main verb is a participle"),
        # Russian conditionals and futures, with and without features
        (f"Пришел/VERB/0/root/{PAST} бы/AUX/1/aux/Mood=Cnd", NOT_INDICATIVE),
        (f"Пришел/VERB/0/root/{PAST} бы/AUX/1/aux", NOT_INDICATIVE),
        (f"Пришел/VERB/0/root/{PAST} б/PART/1/advmod", NOT_INDICATIVE),
        (f"Пусть/PART/2/advmod придет/VERB/0/root/{PRES}", NOT_INDICATIVE),
        (f"будет/AUX/2/cop/{PRES} дома/ADV/0/root", FUTURE),
        # the Finnish negation verb
        (f"ei/AUX/2/aux/Person=3/Polarity=Neg/VerbForm=Fin tee/VERB/0/root/{PRES}/Connegative=Yes", "a negation verb"),
        ("ei/AUX/2/aux/Polarity=Neg/VerbForm=Fin tehnyt/VERB/0/root/VerbForm=Part/PartForm=Past", "a negation verb"),
        # Turkish copulas and questions
        (f"geliyor/VERB/0/root/{TURKISH_PRES} du/AUX/1/cop/{TURKISH_PAST}", ("PAST", "du")),
        (f"geldi/VERB/0/root/{TURKISH_PAST} dir/AUX/1/cop/Mood=Gen/Person=3/Tense=Pres", NOT_INDICATIVE),
        (f"geldi/VERB/0/root/{TURKISH_PAST} mi/AUX/1/aux/{TURKISH_PRES}", "two finite verbs"),
        (f"geldi/VERB/0/root/{TURKISH_PAST} mi/AUX/1/aux/PronType=Int", BARE),
        ("iyi/ADJ/0/root değil/AUX/1/aux/Person=3/Polarity=Neg/Mood=Ind/Tense=Pres", ("PRES", "değil")),
        # English modals, and a predicate that is a clause
        ("can/AUX/2/aux/VerbForm=Fin go/VERB/0/root/VerbForm=Inf", NO_TENSE),
        (f"answer/NOUN/4/nsubj:outer is/AUX/4/cop/{PRES} she/PRON/4/nsubj left/VERB/0/root/{PAST}", "two finite verbs"),
        (f"answer/NOUN/4/nsubj:outer was/AUX/4/cop/{PAST} she/PRON/4/nsubj left/VERB/0/root/{PAST}", ("PAST", "was")),
    ],
)
def test_constructions_of_one_language(text: str, tense: object) -> None:
    assert find(text) == tense


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        # a treebank without VerbForm: a future, a perfect, a modal verb
        ("wird/AUX/2/aux/Mood=Ind/Tense=Pres erhalten/VERB/0/root/Tense=Pres", OPEN),
        ("on/AUX/2/aux/Mood=Ind/Tense=Pres tehnyt/VERB/0/root/PartForm=Past/Voice=Act", OPEN),
        ("voi/AUX/2/aux/Mood=Ind/Tense=Pres tehdä/VERB/0/root/InfForm=1/Voice=Act", OPEN),
        ("voidaan/AUX/2/aux:pass/Mood=Ind/Tense=Pres tehdä/VERB/0/root/InfForm=1/Voice=Act", OPEN),
        # the relations of one treebank have subtypes that those of another have not
        ("kann/AUX/2/aux:modal/Mood=Ind/Tense=Pres/VerbForm=Fin gut/ADJ/0/root", OPEN),
        (f"hat/AUX/2/aux/{PRES} geplant/ADJ/0/root", OPEN),
        # an infinitive or a modal verb with features of its own
        (f"should/AUX/3/aux/{PAST} be/AUX/3/cop/Tense=Pres ill/ADJ/0/root", OPEN),
        (f"would/AUX/2/aux/{PAST} go/VERB/0/root/Voice=Act", OPEN),
        # a passive participle with a case is a Finnish perfect, as one with PartForm is
        (f"on/AUX/2/aux:pass/{PRES} tehty/VERB/0/root/Case=Nom/VerbForm=Part/Voice=Pass", PERFECT),
        # progressives are certain
        (f"está/AUX/2/aux/{PRES} haciendo/VERB/0/root/VerbForm=Ger", ("PRES", "está")),
        (f"are/AUX/3/aux/{PRES} being/AUX/3/cop/Tense=Pres/VerbForm=Part nasty/ADJ/0/root", ("PRES", "are")),
        # the second part of Turkish `değildi` has no features
        (f"iyi/ADJ/0/root değil/AUX/1/cop/{TURKISH_PRES}/Polarity=Neg di/AUX/1/cop/Number=Sing", BARE),
        # a negation verb that is part of another word (`miksei`) leaves its mark on the main verb
        (f"Miksi/ADV/2/advmod tule/VERB/0/root/Connegative=Yes/{PRES}", "a negation verb"),
    ],
)
def test_a_verb_with_an_auxiliary_has_a_tense_only_where_the_features_show_it(text: str, tense: object) -> None:
    assert find(text) == tense


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("Regardez/VERB/0/root/Number=Plur/Person=2/Tense=Pres/VerbForm=Fin", NOT_INDICATIVE),
        ("Allons/VERB/0/root/Number=Plur/Person=1/Tense=Pres/VerbForm=Fin", NOT_INDICATIVE),
        ("Look/VERB/0/root/Tense=Pres/VerbForm=Fin", NOT_INDICATIVE),
        ("Vous/PRON/2/nsubj regardez/VERB/0/root/Person=2/Tense=Pres/VerbForm=Fin", ("PRES", "regardez")),
        ("Regardez/VERB/0/root/Mood=Ind/Person=2/Tense=Pres/VerbForm=Fin", ("PRES", "regardez")),
        ("Biliyorum/VERB/0/root/Number=Sing/Person=1/Tense=Pres", ("PRES", "biliyorum")),
        ("Bildiniz/VERB/0/root/Number=Plur/Person=2/Tense=Past", ("PAST", "bildiniz")),
    ],
)
def test_what_may_be_an_imperative_without_its_mood(text: str, tense: object) -> None:
    assert find(text) == tense
