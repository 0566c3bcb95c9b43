"""Annotations of a sentence with a Penn-style constituency tree.

The main clause is found by the semantic head rules of Stanford's dependencies, which the original tasks were made with.
The main verb is the lexical one (`gone` in `has gone`), so that a sentence has a tense only if its main verb itself is
finite. `there is a book` has the subject `book`, and a noun phrase after `be` or `become` is not an object. An
adverbial noun phrase is neither subject nor object: by its function if trees name functions, and by its noun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from probing.corpus.builders.annotations import AND, Annotations, Target, is_word
from probing.corpus.readers import ParsedSentence, Tree
from probing.corpus.readers.brackets import ADVERBIAL, OUTER_LABELS

Children = tuple[Tree, ...]

TENSES: Final = {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}
NUMBERS: Final = frozenset(["NN", "NNS"])
NOUNS: Final = frozenset(["NN", "NNS", "NNP", "NNPS"])
_PHRASES: Final = frozenset(["NP", ADVERBIAL])
_NOMINAL: Final = NOUNS | _PHRASES | {"NX", "PRP"}
OPEN_TAGS: Final = frozenset(["NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"])
PUNCTUATION: Final = frozenset([",", ".", ":", "``", "''", '"', "-LRB-", "-RRB-", "HYPH", "NFP"])

_CLAUSE_HEADS: Final = {
    "ROOT": ("S", "SINV", "SQ", "SBARQ", "FRAG", "SBAR", "UCP", "PRN", "VP"),
    "S": ("VP", "S", "SINV", "SQ", "SBARQ", "FRAG", "SBAR", "UCP", "PRN"),
    "SINV": ("VP", "VBZ", "VBD", "VBP", "VB", "MD", "S", "SINV"),
    "SQ": ("VP", "SQ", "VBZ", "VBD", "VBP", "VB", "MD", "S"),
    "SBARQ": ("SQ", "S", "SINV", "SBARQ", "FRAG", "SBAR", "VP"),
    "SBAR": ("S", "SQ", "SINV", "SBAR", "FRAG", "VP", "SBARQ"),
    "FRAG": ("VP", "S", "SBARQ", "SQ", "SINV", "SBAR", "FRAG"),
    "UCP": ("VP", "S", "SBAR"),
    "PRN": ("S", "SINV", "SQ", "SBARQ", "VP"),
}
"""Label of a node -> labels of its children, the most likely first, below which the main verb is searched."""

_FORMS_OF_BE = "be am is are was were been being 'm 's 're isn aren wasn weren ain"
_FORMS_OF_BECOME = "become becomes became becoming remain remains remained remaining seem seems seemed seeming"
_FORMS_OF_HAVE = "have has had having 've 'd hasn haven hadn"
_FORMS_OF_DO = "do does did done doing don doesn didn"
_FORMS_OF_GET = "get gets got getting"
_LINKING: Final = frozenset(f"{_FORMS_OF_BE} {_FORMS_OF_BECOME}".split())
_AUXILIARIES: Final = frozenset(f"{_FORMS_OF_BE} {_FORMS_OF_HAVE} {_FORMS_OF_DO} {_FORMS_OF_GET}".split())
_TIMES = (
    "time times moment moments second seconds minute minutes hour hours day days night nights morning mornings "
    "evening evenings afternoon afternoons today tomorrow tonight yesterday week weeks weekend weekends month months "
    "year years decade decades century centuries spring summer autumn fall winter season while ages"
)
_DISTANCES = "inch inches foot feet yard yards mile miles meter meters metre metres kilometer kilometers kilometre "
_AMOUNTS = "kilometres block blocks step steps way ways home bit lot lots couple deal notch notches fraction percent "
_SCORES = "cent cents penny pence dollar dollars pound pounds yen degree degrees point points goal goals run runs"
_ADVERBIALS: Final = frozenset(f"{_TIMES} {_DISTANCES} {_AMOUNTS} {_SCORES}".split())
"""Nouns of time, distance and amount: a phrase with such a head says when, how far or how much, and is no object."""
_SHORTENED = "isn doesn hasn ain"
_SHORT_VBZ: Final = frozenset(_SHORTENED.split())
"""Forms of a verb's third person that lost their `'t`; all others end in s."""
_COORDINATION: Final = ("", "")
"""Head of a coordination whose number is not certain."""


def extract(sentence: ParsedSentence) -> Annotations:
    """Return the annotations of a sentence with a constituency tree."""
    root = cast(Tree, sentence.tree)
    if root[0] not in OUTER_LABELS:
        root = ("ROOT", (root,))
    top = _top_nodes(root)
    clause = _main_clause(root)
    verb_phrase = None if clause is None else _lexical_phrase(clause[0][clause[1]])
    return Annotations(
        tokens=sentence.tokens,
        depth=_depth(root),
        top=_top_sequence(top),
        tense=_tense(verb_phrase),
        subject=_subject(clause),
        object=_object(verb_phrase),
        clauses=_clauses(top, sentence.tags),
        kinds=" ".join([tag if tag in OPEN_TAGS else "-" for tag in sentence.tags]),
        proper=sentence.tags[0].startswith("NNP"),
    )


def _depth(root: Tree) -> int:
    """Return the number of nodes on the longest path from the root to a tag, both included."""
    depth = 0
    level: list[Tree] = [root]
    while level:
        depth += 1
        level = [child for _, children in level if not isinstance(children, str) for child in children]
    return depth


def _top_nodes(root: Tree) -> Children:
    """Return the nodes directly below the sentence node, or none if there are several sentence nodes."""
    children = cast(Children, root[1])
    if len(children) != 1 or isinstance(children[0][1], str):
        return ()
    return children[0][1]


def _top_sequence(top: Children) -> str:
    labels = ["NP" if label == ADVERBIAL else label for label, _ in top]
    if len(labels) < 2 or labels[-1] != "." or any(label in PUNCTUATION for label in labels[:-1]):
        return ""
    return "_".join(labels)


def _main_clause(root: Tree) -> tuple[Children, int, str] | None:
    """Return the children of the main clause, the position of its verb phrase (or verb) and the clause's label."""
    node = ("ROOT", root[1])
    while True:
        label, children = node
        if isinstance(children, str):
            return None
        labels = [child[0] for child in children]
        wanted = next(filter(labels.__contains__, _CLAUSE_HEADS.get(label, ())), None)
        if wanted is None:
            return None
        place = labels.index(wanted)
        if wanted == "VP" or isinstance(children[place][1], str):
            return children, place, label
        node = children[place]


class _VerbPhrase(NamedTuple):
    """The innermost verb phrase of a clause, below the auxiliaries (or of the first conjunct)."""

    children: Children
    verb: int
    """Position of the verb."""
    assisted: bool
    """Whether an auxiliary stands above."""


def _lexical_phrase(node: Tree) -> _VerbPhrase | None:
    assisted = False
    while True:
        children = node[1]
        if isinstance(children, str):
            return _VerbPhrase((node,), 0, assisted)
        verb, inner = -1, None
        for place, (tag, content) in enumerate(children):
            if tag == "VP":
                inner = inner or children[place]
            elif verb < 0 and (tag[:2] == "VB" or tag == "MD" or tag == "TO") and isinstance(content, str):
                verb = place
        if verb >= 0 and (inner is None or not _is_auxiliary(children[verb])):
            return _VerbPhrase(children, verb, assisted)
        if inner is None:
            return None
        assisted |= verb >= 0
        node = inner


def _is_auxiliary(node: Tree) -> bool:
    return node[0] in ("MD", "TO") or cast(str, node[1]).lower() in _AUXILIARIES


def _tense(phrase: _VerbPhrase | None) -> Target | str:
    if phrase is None:
        return "no main verb"
    tag, word = phrase.children[phrase.verb]
    if tag not in TENSES or phrase.assisted:  # even if it is tagged as a past: `has said`
        return "the main verb is not finite by itself"
    form = cast(str, word).lower()
    if not _fits(tag, form):
        return "the main verb's tag does not fit its form"
    return TENSES[tag], form


def _fits(tag: str, form: str) -> bool:
    """Return whether a finite verb's ending can be of its tag: a parser may take `mumbled` for a present."""
    if not is_word(form):
        return False
    if tag == "VBZ":
        return form[-1] == "s" or form in _SHORT_VBZ
    return tag != "VBD" or form == "was" or not form.endswith(("s", "ing"))


def _subject(clause: tuple[Children, int, str] | None) -> Target | str:
    if clause is None:
        return "no main verb"
    children, place, label = clause
    phrases = [child for child in children[:place] if child[0] == "NP"]
    if not phrases and label in ("SQ", "SINV"):
        phrases = [child for child in children[place + 1 :] if child[0] == "NP"][:1]
    if not phrases:
        return "no subject"
    head = _noun_head(phrases[-1])
    if len(phrases) > 1 and head[1].lower() in _ADVERBIALS:
        head = _noun_head(phrases[-2])
    if head[0] == "EX":
        below = _lexical_phrase(children[place])
        later = [] if below is None else [child for child in below.children[below.verb + 1 :] if child[0] in _PHRASES]
        if not later:
            return "no subject"
        head = _noun_head(later[0])
    return _number(head, "subject")


def _object(phrase: _VerbPhrase | None) -> Target | str:
    if phrase is None:
        return "no main verb"
    children, place, _ = phrase
    if cast(str, children[place][1]).lower() in _LINKING:
        return "the main verb takes no object"
    first = next((i for i, child in enumerate(children) if i > place and child[0] == "NP"), 0)
    if not first:
        return "no object"
    head = _noun_head(children[first])
    if first + 1 < len(children) and children[first + 1][0] == "NP":
        second = _noun_head(children[first + 1])
        if second[1].lower() not in _ADVERBIALS:
            head = second
    if head[1].lower() in _ADVERBIALS:
        return "a noun phrase of time, distance or amount"
    return _number(head, "object")


def _number(head: tuple[str, str], role: str) -> Target | str:
    tag, word = head
    if head == _COORDINATION:
        return f"the {role} is a coordination of no certain number"
    if tag in NUMBERS and is_word(word):
        return tag, word.lower()
    if tag.startswith("NNP"):
        return f"the {role} is a proper noun"
    return f"the {role} is no noun"


def _noun_head(node: Tree) -> tuple[str, str]:
    """Return the tag and word of a noun phrase's head: the last noun of a flat phrase, or the first conjunct's head.

    The label is the number of one word form, so a coordination has one only if it is plural and its first noun is.
    """
    while True:
        label, children = node
        if isinstance(children, str):
            return label, children
        if any(child[0] in ("CC", "CONJP") for child in children):
            conjuncts = _conjuncts(children)
            if len(conjuncts) > 1:
                heads = [_noun_head(("NP", conjunct)) for conjunct in conjuncts]
                joined = any(child[0] == "CC" and cast(str, child[1]).lower() in AND for child in children)
                plural = all(head[0] in ("NNS", "NNPS") for head in (heads[:1] if joined else heads))
                return heads[0] if plural else _COORDINATION
        if children[0][0] in _PHRASES and not _is_possessive(children[0]):
            node = children[0]
            continue
        nouns = [child for child in children if child[0] in NOUNS or child[0] == "NX"]
        if not nouns:
            nouns = [child for child in children if child[0] not in ("S", "SBAR", "PP") and child[0] not in PUNCTUATION]
        node = nouns[-1] if nouns else children[0]


def _conjuncts(children: Children) -> list[Children]:
    """Return the parts of a coordination that contain a noun or pronoun."""
    parts: list[list[Tree]] = [[]]
    for child in children:
        if child[0] in ("CC", "CONJP", ",", ":"):
            parts.append([])
        else:
            parts[-1].append(child)
    return [tuple(part) for part in parts if any(child[0] in _NOMINAL for child in part)]


def _is_possessive(node: Tree) -> bool:
    children = node[1]
    return not isinstance(children, str) and children[-1][0] == "POS"


def _clauses(top: Children, tags: Sequence[str]) -> tuple[int, int, int] | str:
    labels = [label for label, _ in top]
    if labels not in (["S", "CC", "S", "."], ["S", ",", "CC", "S", "."], ["S", ":", "CC", "S", "."]):
        return "not two coordinate clauses"
    if tags.count("CC") != 1:
        return "more than one conjunction"
    second = tags.index("CC") + 1
    return second - (len(labels) - 3), second, len(tags) - 1
