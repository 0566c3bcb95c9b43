"""What tasks ask and what their labels mean."""

from __future__ import annotations

import pytest

from probing.report.meanings import MEANINGS, explain_labels, explain_task
from probing.tasks import TASKS


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_is_explained_with_its_other_names(task) -> None:
    text = explain_task(task.name)
    assert text.startswith(task.asks)
    for other in {task.senteval, task.conneau} - {task.name}:
        assert other in text


def test_a_users_own_task_has_no_explanation() -> None:
    assert explain_task("mine") == ""
    assert explain_labels("mine", ["NN"]) == {}


def test_labels_that_have_a_meaning() -> None:
    assert explain_labels("SubNm", ["NN", "NNS", "other"]) == {"NN": "singular", "NNS": "plural"}
    assert next(iter(MEANINGS["SeLen"].values())).endswith(" tokens")
