"""The verbs of the lexicon: every form has one tense."""

from __future__ import annotations

from probing.corpus.grammar import verbs


def all_verbs() -> list[verbs.Verb]:
    lists = [group.verbs.items for group in verbs.GROUPS]
    lists.append(verbs.MOTION[1].items)
    for scene in verbs.SCENES.values():
        lists += [entry.verbs.items for choice in scene.intransitives.values() for entry in choice.items]
        lists += [choice.items for _, choice in (scene.gifts.items if scene.gifts else ())]
        compounds = [compound for choice in scene.prepositionals.values() for compound in choice.items]
        compounds += scene.particles.items if scene.particles else ()
        lists.append(tuple(compound.verb for compound in compounds))
    for choice in (
        verbs.STATES, verbs.TELLING, verbs.WISHES, verbs.ORDERS, verbs.HABITS, verbs.PERCEPTION,
        verbs.GOAL_VERBS, verbs.POSTURE, verbs.SEEMING,
    ):  # fmt: skip
        lists.append(choice.items)
    return [verb for items in lists for verb in items]


def test_no_verb_has_one_form_for_present_and_past() -> None:
    alike = [verb.base[1] for verb in all_verbs() if verb.past[0][1] in (verb.base[1], verb.present[0][1])]
    assert alike == []


def test_no_form_is_the_past_of_one_verb_and_the_present_of_another() -> None:
    past = {verb.past[0][1] for verb in all_verbs()}
    present = {leaf[1] for verb in all_verbs() for leaf in verb.present}
    assert past & present == set()


def test_there_are_many_verbs() -> None:
    assert len({verb.base for verb in all_verbs()}) >= 335
