"""`probing.tasks` offers the names of its modules, and imports those with arrays only when one is used."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from probing import tasks


def test_the_table_needs_no_numpy() -> None:
    code = "import sys; from probing.tasks import TASKS, read_task_file; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_type_checkers_see_the_same_names() -> None:
    (branch,) = [node for node in ast.parse(Path(tasks.__file__).read_text()).body if isinstance(node, ast.If)]
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    seen = {str(node.module): tuple(alias.name for alias in node.names) for node in imports}
    assert seen == {f"probing.tasks.{module}": names for module, names in tasks.NEEDING_NUMPY.items()}


@pytest.mark.parametrize("module", tasks.NEEDING_NUMPY)
def test_every_name_is_that_of_its_module(module: str) -> None:
    source = importlib.import_module(f"probing.tasks.{module}")
    for name in tasks.NEEDING_NUMPY[module]:
        assert getattr(tasks, name) is getattr(source, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'probing.tasks' has no attribute 'tasksets'"):
        tasks.tasksets  # noqa: B018
