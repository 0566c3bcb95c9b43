from __future__ import annotations

from probing.report.note import NAMED, Item, Note, join_some


def make_items(count):
    return [Item(f"M{number} on WC", [[f"M{number}"]]) for number in range(count)]


def test_a_note_is_its_text():
    assert Note("at chance", make_items(2)) == "at chance: M0 on WC; M1 on WC"
    assert Note("", make_items(1)) == "M0 on WC"


def test_the_items_that_are_not_named_are_counted():
    note = Note("at chance", make_items(NAMED + 2))
    assert note.endswith("; M5 on WC; and 2 more")
    assert (len(note.items), note.most) == (NAMED + 2, NAMED)


def test_a_note_of_figures_names_all():
    note = Note("F1", make_items(NAMED + 2), names_all=True)
    assert note.endswith("; M6 on WC; M7 on WC")
    assert note.most == NAMED + 2


def test_a_list_is_joined_with_any_separator():
    assert join_some(["a", "b", "c"], ", ", most=2) == "a, b, and 1 more"
    assert join_some(["a", "b"], ", ") == "a, b"
