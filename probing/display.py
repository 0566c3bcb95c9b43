"""The display of a run: live progress bars on a terminal, plain lines elsewhere, all of it on stderr."""

from __future__ import annotations

import logging
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from probing.errors import as_one_line

WIDE = 100
"""Width of a terminal from which bars are long."""
SECONDS_UNTIL_A_BAR = 2.0
"""Time after which a progress bar appears."""
TIME_LEFT = 12
"""Number of characters that the time left takes, with the gaps between columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Progress of one piece of work."""

    work: str
    """Name of the work."""
    fraction: float = 0.0
    """Share of the work that is done, if nothing is saved by early stopping."""
    text: str = ""
    """Current activity, in words."""
    milestone: bool = False
    """Whether a verbose display prints the text as a line of its own."""
    note: str = ""
    """A line to be shown in any case; then the rest does not count."""
    news: str = ""
    """A line to be shown unless quiet; then the rest does not count."""


@dataclass(slots=True)
class Display:
    """Shows the progress of a run; `verbosity` is -1 (warnings and errors only), 0, or 1 (every epoch)."""

    verbosity: int = 0
    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, soft_wrap=True))
    _total: int = 0
    _sizes: dict[str, float] = field(default_factory=dict)
    _size: float = 0.0
    _started: float = 0.0
    _fractions: dict[str, float] = field(default_factory=dict)
    _ended: list[str] = field(default_factory=list)
    _progress: Progress | None = None
    _overall: TaskID | None = None
    _longest: int = 0
    """Length of the longest text so far."""
    _rows: dict[str, TaskID] = field(default_factory=dict)

    @property
    def _is_live(self) -> bool:
        """Whether progress bars are shown: on a terminal and in a notebook, unless quiet."""
        return (self.console.is_terminal or self.console.is_jupyter) and self.verbosity >= 0

    def say(self, text: str) -> None:
        """Print a line that is not about progress, unless quiet."""
        if self.verbosity >= 0:
            self.warn(text)

    def detail(self, text: str) -> None:
        """Print a line only when verbose."""
        if self.verbosity >= 1:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a line even when quiet; a terminal gets it broken at words."""
        line = as_one_line(text)
        if self.console.is_terminal and len(line) > self.console.width:  # a path stays whole
            width = self.console.width
            line = textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        self.console.print(line, markup=False, emoji=False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show the package's log messages: warnings always, others unless quiet."""
        logger, handler = logging.getLogger("probing"), _LogLines(self)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    @contextmanager
    def running(self, cells: Sequence[tuple[str, float]]) -> Iterator[None]:
        """Show the progress of cells, given by name and size of data; the time left is estimated from the sizes."""
        self._total, self._sizes, self._size = len(cells), dict(cells), sum(size for _, size in cells)
        self._started = time.monotonic()
        self._fractions.clear()
        self._ended.clear()
        if not self._is_live:
            yield
            return
        self._longest = 0
        columns = (
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=self._bar),
            TextColumn("{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        )
        with Progress(*columns, console=self.console, transient=True) as self._progress:
            self._overall = self._progress.add_task("all", total=self._size, text="")
            try:
                yield
            finally:
                self._progress, self._overall = None, None
                self._rows.clear()

    @contextmanager
    def measuring(self, what: str) -> Iterator[Callable[[float], None]]:
        """Show which share of a job is done, if it takes long; provides a function that takes the share."""
        started, show = time.monotonic(), None
        with ExitStack() as stack:

            def tell(share: float) -> None:
                nonlocal show
                percent = int(100 * share)
                if show is None and time.monotonic() - started >= SECONDS_UNTIL_A_BAR:
                    show = stack.enter_context(self.counting(what, 100, percent))
                if show is not None:
                    show(percent)

            yield tell

    @contextmanager
    def counting(self, what: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
        """Show how many items are done; provides a function that takes the number."""
        if not self._is_live:
            yield lambda done: None
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=self._bar),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console, transient=True) as progress:
            room = self.console.width - self._bar - TIME_LEFT - 2 * len(f"{total:,}")
            name = leave_out_middle(as_one_line(what), max(16, room))
            row = progress.add_task(name, total=total, completed=done)
            yield lambda done: progress.update(row, completed=done)

    def update(self, status: Status) -> None:
        """Show how far a cell has come."""
        if status.note:
            self.warn(f"{status.work}: {status.note}")
            return
        if status.news:
            self.say(f"{status.work}: {status.news}")
            return
        if status.milestone:
            self.detail(f"  {status.work}: {status.text}")
        if status.work in self._ended:  # a status from another process can arrive after the outcome
            return
        self._fractions[status.work] = status.fraction
        if self._progress is not None and self._overall is not None:
            text = as_one_line(status.text)
            overall = f"cell {min(len(self._ended) + 1, self._total)} of {self._total}{self._left_text()}"
            self._longest = max(self._longest, len(text), len(overall))
            for work, row in self._rows.items():  # the display may be drawn at any time: first the room, then the text
                self._progress.update(row, description=self._shorten(work))
            if status.work not in self._rows:
                self._rows[status.work] = self._progress.add_task(self._shorten(status.work), total=1.0, text="")
            self._progress.update(self._rows[status.work], completed=status.fraction, text=text)
            self._progress.update(self._overall, completed=self._done, text=overall)

    def finish(self, cell: str, outcome: str) -> None:
        """Show that a cell has ended, and how."""
        self._ended.append(cell)
        self._fractions.pop(cell, None)
        if self._progress is not None and cell in self._rows:
            self._progress.remove_task(self._rows.pop(cell))
        self.say(f"[{len(self._ended)}/{self._total}] {cell}: {outcome}{self._left_text()}")

    @property
    def _bar(self) -> int:
        """Length of a progress bar."""
        return 24 if self.console.width >= WIDE else 8

    def _shorten(self, name: str) -> str:
        """Return a name that leaves room for bar and text; a long one loses its middle, because names differ last."""
        return leave_out_middle(as_one_line(name), max(16, self.console.width - self._bar - self._longest - 2))

    @property
    def _done(self) -> float:
        """Amount of data, over all cells, that is done."""
        begun = sum(self._sizes[cell] * fraction for cell, fraction in self._fractions.items())
        return begun + sum(self._sizes[cell] for cell in self._ended)

    def _left_text(self) -> str:
        done = self._done
        if len(self._ended) >= self._total or done <= 0:
            return ""
        return f"  about {format_seconds((time.monotonic() - self._started) * (self._size - done) / done)} left"


def leave_out_middle(name: str, room: int) -> str:
    """Return a name of at most some characters."""
    return name if len(name) <= room else f"{name[: room // 2 - 1]}…{name[-(room - room // 2) :]}"


class _LogLines(logging.Handler):
    def __init__(self, display: Display) -> None:
        super().__init__()
        self.display = display

    def emit(self, record: logging.LogRecord) -> None:
        show = self.display.warn if record.levelno >= logging.WARNING else self.display.say
        show(record.getMessage())


def format_seconds(seconds: float) -> str:
    """Return a duration as a person would say it: 42s, 3m10s, 2h05m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
