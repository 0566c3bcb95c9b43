"""Transfer of noun phrases and of the phrases built on them: concord, genitives, adpositions.

Each function appends the words of a phrase to a list; those for noun phrases return the head, with which others agree.
"""

from __future__ import annotations

from probing.corpus.language.draft import Draft
from probing.corpus.language.forms import Form, NounForms
from probing.corpus.language.homographs import HOMOGRAPHS, MISTAKEN_ADJECTIVES, MISTAKEN_PREDICATIVES
from probing.corpus.language.inflection import DATIVE, GENITIVE, PLURAL, THIRD_PLURAL
from probing.corpus.language.lexicon import ADJECTIVES, NOMINALS, PREDICATIVES, WORDS, Phrase
from probing.corpus.language.particles import ADPOSITIONS, DETERMINERS

_NOUNS = frozenset(["NN", "NNS", "NNP", "PRP"])


def say_noun_phrase(draft: Draft, tree: Phrase, case: int, out: list[Form]) -> NounForms:
    """Translate a noun phrase in a case."""
    children = tree[1]
    first = children[0]
    if first[0] == "NP":
        return _say_complex(draft, children, case, out)
    if len(children) > 1:
        return _say_flat(draft, children, case, out)
    head = NOMINALS[first]
    out.append(head.cases[case])
    if first[1] in HOMOGRAPHS:
        draft.notes.append(("homograph", head.word, head.cases[0].stem))
    return head


def _say_flat(draft: Draft, children: tuple[Phrase, ...], case: int, out: list[Form]) -> NounForms:
    """Translate determiner, numeral, adjectives and nouns, of which the last is the head."""
    head = next(NOMINALS[leaf] for leaf in reversed(children) if leaf[0] in _NOUNS)
    index = head.gender * 4 + case if draft.without != "concord" else 0
    start = len(out)
    first = True
    for leaf in children:
        tag, word = leaf
        if tag == "NN" or tag == "NNS":
            noun = NOMINALS[leaf]
            form = noun.cases[case]
            if first and len(out) > start:
                endings = [each.features for each in out[start:]]
                if any(endings):
                    draft.notes.append(("concord", noun.word, form.text, *endings))
            first = False
            out.append(form)
            if word in HOMOGRAPHS:
                draft.notes.append(("homograph", noun.word, form.stem))
        elif tag == "DT" or tag == "PRP$":
            out.append(DETERMINERS[word][index])
        elif tag == "JJ":
            out.append(_say_adjective(draft, word, index))
        elif tag == "NNP":
            out.append(NOMINALS[leaf].cases[case])
        elif tag == "ADJP":
            degree, (_, adjective) = word
            out += (WORDS[degree], _say_adjective(draft, adjective, index))
        elif tag != "." and tag != "POS":
            out.append(WORDS[leaf])
    return head


def _say_adjective(draft: Draft, word: str, index: int) -> Form:
    if word not in HOMOGRAPHS:
        return ADJECTIVES[word][index]
    form = ADJECTIVES[word][index]
    draft.notes.append(("homograph", form.word, form.stem))
    return MISTAKEN_ADJECTIVES.get(word, ADJECTIVES[word])[index] if draft.without == "homograph" else form


def _say_complex(draft: Draft, children: tuple[Phrase, ...], case: int, out: list[Form]) -> NounForms:
    """Translate a noun phrase that begins with another one."""
    first, second = children[:2]
    if first[1][-1][0] == "POS":
        return _say_owned(draft, first, children[1:], case, out)
    head = say_noun_phrase(draft, first, case, out)
    label = second[0]
    if label == "PP":
        preposition, inner = second[1]
        if preposition[1] == "of":
            say_noun_phrase(draft, inner, GENITIVE, out)
        else:
            say_adposition(draft, preposition[1], inner, out, inside=True)
    elif label == "CC":
        out.append(WORDS[second])
        say_noun_phrase(draft, children[2], case, out)
        return head._replace(gender=PLURAL, person=THIRD_PLURAL)
    elif label == "SBAR" or label == "VP":
        from probing.corpus.language.relatives import add_participle, add_relative_clause

        (add_relative_clause if label == "SBAR" else add_participle)(draft, head, second, out)
    return head


def _say_owned(draft: Draft, owner: Phrase, rest: tuple[Phrase, ...], case: int, out: list[Form]) -> NounForms:
    """Translate `the king 's old dog` as `the old dog of.the king`: the owner follows, in the genitive."""
    if draft.without == "genitive":
        possessor = _say_owner(draft, owner, out)
        head = _say_flat(draft, (("DT", "the"), *rest), case, out)
    else:
        head = _say_flat(draft, (("DT", "the"), *rest), case, out)
        possessor = _say_owner(draft, owner, out)
    draft.notes.append(("genitive", head.word, possessor.word))
    draft.combinations.append((possessor.word, "genitive"))
    return head


def _say_owner(draft: Draft, owner: Phrase, out: list[Form]) -> NounForms:
    return say_noun_phrase(draft, ("NP", owner[1][:-1]), GENITIVE, out)


def say_adposition(draft: Draft, word: str, phrase: Phrase, out: list[Form], *, inside: bool) -> NounForms:
    """Translate a preposition and its noun phrase; `inside` of a noun phrase, the adposition has a form of its own."""
    out.append(ADPOSITIONS[word][inside and draft.without != "attachment"])
    head = say_noun_phrase(draft, phrase, DATIVE, out)
    if inside:
        draft.notes.append(("attachment", head.word, "ADN"))
    return head


def say_prepositional(draft: Draft, tree: Phrase, out: list[Form]) -> NounForms:
    """Translate a prepositional phrase that does not stand inside of a noun phrase."""
    (_, word), phrase = tree[1]
    return say_adposition(draft, word.lower(), phrase, out, inside=False)


def say_adverb(draft: Draft, tree: Phrase, out: list[Form]) -> None:
    """Translate an adverb, or a phrase of time like `two days ago`."""
    for child in tree[1]:
        if child[0] == "NP":
            say_noun_phrase(draft, child, 1, out)
        else:
            out.append(WORDS[child])


def say_adjective_phrase(draft: Draft, tree: Phrase, out: list[Form]) -> Phrase | None:
    """Translate an adjective beside a verb, and return the clause after it, if there is one."""
    child: Phrase
    for child in tree[1]:
        tag, word = child
        if tag == "JJ" or tag == "JJR":
            form = PREDICATIVES[word]
            if word in HOMOGRAPHS:
                draft.notes.append(("homograph", form.word, form.stem))
                if draft.without == "homograph":
                    form = MISTAKEN_PREDICATIVES.get(word, form)
            out.append(form)
        elif tag == "PP":
            say_prepositional(draft, child, out)
        elif tag == "S" or tag == "SBAR":
            return child
        else:
            out.append(WORDS[child])
    return None
