from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from probing import display as module
from probing.display import Display, Status, format_seconds

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Screen:
    """A display that writes into memory, with a clock that is set by hand."""

    def __init__(self, monkeypatch, *, terminal, verbosity=0, width=100):
        self.file = io.StringIO()
        console = Console(file=self.file, force_terminal=terminal, width=width, highlight=False, soft_wrap=True)
        self.display = Display(verbosity, console)
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    @property
    def text(self):
        return CONTROL.sub("", self.file.getvalue())

    def refresh(self):
        """Return what the live display shows now."""
        with self.display._progress.live._lock:  # else it may refresh itself meanwhile
            self.file.truncate(0)
            self.file.seek(0)
            self.display._progress.refresh()
            return self.text


@pytest.fixture
def plain(monkeypatch):
    return lambda verbosity=0: Screen(monkeypatch, terminal=False, verbosity=verbosity)


@pytest.fixture
def live(monkeypatch):
    return lambda verbosity=0, width=100: Screen(monkeypatch, terminal=True, verbosity=verbosity, width=width)


def status(work="Tense EM seed 0", fraction=0.5, text="epoch 3/8  dev 81.25", milestone=False):
    return Status(work=work, fraction=fraction, text=text, milestone=milestone)


def run_two_cells(screen):
    display = screen.display
    with display.running([("A", 1), ("B", 1)]):
        display.update(status("A", 0.5))
        display.update(status("A", 0.6, milestone=True))
        screen.now += 60
        display.finish("A", "test 80.00")
        display.update(status("B", milestone=True, text="epoch 3/8"))
        screen.now += 60
        display.finish("B", "test 90.00")


def test_plain_lines_without_a_terminal(plain):
    screen = plain()
    screen.display.say("data: mini")
    run_two_cells(screen)
    assert screen.text == "data: mini\n[1/2] A: test 80.00  about 1m00s left\n[2/2] B: test 90.00\n"
    assert "\x1b" not in screen.file.getvalue()


def test_the_time_left_is_judged_by_the_size_of_the_data(plain):
    screen = plain()
    with screen.display.running([("A", 100), ("B", 300), ("C", 600)]):
        screen.now += 60
        screen.display.finish("A", "test 80.00")
        screen.now += 60
        screen.display.update(status("C", 0.5))
        screen.display.finish("B", "test 90.00")
    first, second = screen.text.splitlines()
    assert first.endswith("about 9m00s left")
    assert second.endswith("about 51s left")  # 700 of 1,000 took two minutes


def test_cells_of_one_name_count_each(plain):
    screen = plain()
    with screen.display.running([("Tense Gate seed 0", 5)] * 2):
        screen.now += 60
        screen.display.finish("Tense Gate seed 0", "test 80.00")
        screen.display.finish("Tense Gate seed 0", "test 90.00")
    first, second = screen.text.splitlines()
    assert first.startswith("[1/2]")
    assert first.endswith("about 1m00s left")
    assert second == "[2/2] Tense Gate seed 0: test 90.00"


def test_every_epoch_when_verbose(plain):
    screen = plain(1)
    screen.display.detail("2 cells at a time")
    run_two_cells(screen)
    assert screen.text.splitlines() == [
        "2 cells at a time",
        "  A: epoch 3/8  dev 81.25",
        "[1/2] A: test 80.00  about 1m00s left",
        "  B: epoch 3/8",
        "[2/2] B: test 90.00",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_only_warnings_when_quiet(monkeypatch, terminal):
    screen = Screen(monkeypatch, terminal=terminal, verbosity=-1)
    screen.display.say("data: mini")
    screen.display.detail("more")
    run_two_cells(screen)
    screen.display.warn("warning: x")
    assert screen.text == "warning: x\n"


HOSTILE = ["[bold]x[/bold]", "[/]", "a.txt:100: 2 fields", "path\\", "[1/2]", "x" * 300, "1.5 'a' None"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_printed_as_it_is(plain, live, text):
    for screen in (plain(1), live(1)):
        for say in (screen.display.say, screen.display.detail, screen.display.warn):
            say(text)
        assert screen.text == f"{text}\n" * 3


@pytest.mark.parametrize("width", [80, 120])
def test_the_live_display_shows_how_far_each_cell_has_come(live, width):
    screen = live(width=width)
    display = screen.display
    with display.running([(name, 7) for name in ("Tense Simple (code) seed 0", "WC EM seed 0", "C", "D")]):
        display.update(status("Tense Simple (code) seed 0"))
        screen.now += 30
        display.update(status("WC EM seed 0", text="encoding the sentences"))
        overall, first, second = screen.refresh().splitlines()
    assert re.fullmatch(r"all +\S+ cell 1 of 4  about 1m30s left *", overall)
    assert re.fullmatch(r"Tense Simple \(code\) seed 0 \S+ epoch 3/8  dev 81.25 *", first)
    assert re.fullmatch(r"WC EM seed 0 +\S+ encoding the sentences *", second)


def test_the_live_display_loses_the_row_of_a_finished_cell(live):
    screen = live()
    display = screen.display
    with display.running([("A", 1), ("B", 1)]):
        display.update(status("A"))
        display.update(status("B"))
        display.finish("A", "test 80.00")
        display.update(status("B"))
        shown = screen.refresh()
        assert "cell 2 of 2" in shown
        assert len(shown.splitlines()) == 2
        assert "B" in shown.splitlines()[1]
    assert display._progress is None


def test_a_status_that_comes_after_the_outcome_changes_nothing(live):
    screen = live(1)
    display = screen.display
    with display.running([("A", 1), ("B", 1)]):
        display.finish("A", "test 80.00")
        before = screen.refresh()
        display.update(status("A", 1.0, milestone=True))
        assert screen.refresh() == before


def test_lines_stay_above_the_live_display(live):
    screen = live()
    run_two_cells(screen)
    assert "[1/2] A: test 80.00  about 1m00s left\n" in screen.text
    assert "[2/2] B: test 90.00\n" in screen.text


def test_a_cell_with_markup_in_its_name(live):
    screen = live()
    with screen.display.running([("[red]x[/] :dog:", 1)]):
        screen.display.update(status("[red]x[/] :dog:"))
        assert "[red]x[/] :dog:" in screen.refresh()


def test_the_terminal_is_given_back_after_an_interruption(live):
    screen = live()

    def run():
        with screen.display.running([("A", 1), ("B", 1)]):
            screen.display.update(status("A"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert screen.file.getvalue().rindex("\x1b[?25h") > screen.file.getvalue().rindex("\x1b[?25l")  # the cursor
    assert screen.display._progress is None


def test_a_display_can_be_used_again(plain):
    screen = plain()
    run_two_cells(screen)
    run_two_cells(screen)
    assert screen.text.count("[1/2] A: test 80.00  about 1m00s left\n") == 2


def test_nothing_to_run_shows_nothing(plain, live):
    for screen in (plain(), live()):
        with screen.display.running([]):
            pass
        assert "left" not in screen.text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "0s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (190, "3m10s"),
        (3599.6, "1h00m"),
        (7500, "2h05m"),
        (360_000, "100h00m"),
    ],
)
def test_a_duration_reads_as_a_person_would_say_it(seconds, text):
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(("seconds", "shown"), [(1.0, False), (3.0, True)])
def test_a_share_is_shown_with_the_time_left_only_if_it_takes_long(monkeypatch, seconds, shown):
    screen = Screen(monkeypatch, terminal=True)
    with screen.display.measuring("reading a.txt") as on_share:
        screen.now += seconds
        for share in (0.25, 0.5, 0.75):
            on_share(share)
            screen.now += seconds / 4
    assert ("reading a.txt" in screen.file.getvalue()) == shown
    assert ("75/100" in screen.file.getvalue()) == shown
    assert ("0:00:" in screen.file.getvalue()) == shown


def test_counting_shows_a_bar_on_a_terminal_only() -> None:
    for terminal in (True, False):
        file = io.StringIO()
        display = Display(console=Console(file=file, force_terminal=terminal, width=120))
        with display.counting("Tense Mine: embedding", 10) as on_progress:
            on_progress(4)
            on_progress(10)
        assert ("Tense Mine: embedding" in file.getvalue()) == terminal


def test_news_of_a_cell_are_a_line_unless_quiet(plain):
    for verbosity, expected in ((0, "Tense EM seed 0: goes on from epoch 3\n"), (-1, "")):
        screen = plain(verbosity)
        screen.display.update(Status(work="Tense EM seed 0", news="goes on from epoch 3"))
        assert screen.text == expected


@pytest.mark.parametrize("width", [80, 120])
def test_long_names_leave_room_for_the_bar_and_the_text(live, width):
    screen = live(width=width)
    name = "coordination_inversion sentence-transformers/all-MiniLM-L6-v2 layer 11 seed 4"
    text = "epoch 3/8  loss 0.123  dev 81.25  12,345 tokens/s"
    with screen.display.running([(name, 1)]):
        screen.display.update(status(name, text=text))
        lines = [line.rstrip() for line in screen.refresh().splitlines() if line.strip()]
    assert max(map(len, lines)) <= width
    (line,) = [line for line in lines if "epoch" in line]
    assert text in line
    assert "seed 4 " in line
    assert line.startswith("coord")


LONG = "BShif A_very_long_name_of_an_encoder_that_never_ends_and_goes_on layer 0 seed 0"


def test_a_long_line_is_broken_at_words_on_a_terminal_only(plain, live):
    for screen, expected in ((plain(), f"{LONG}: test 48.20 (majority 50.00)\n"), (live(width=80), None)):
        screen.display.warn(f"{LONG}: test 48.20 (majority 50.00)")
        assert screen.text == (expected or f"{LONG}:\n  test 48.20 (majority 50.00)\n")
    screen = live(width=40)
    screen.display.warn(f"results are in /{'a' * 60}/b")
    assert screen.text == f"results are in\n  /{'a' * 60}/b\n", "a path stays whole"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_long_name_leaves_room_for_what_is_counted(live, width):
    screen = live(width=width)
    with screen.display.counting(f"{LONG}: embedding", 4500) as tell:
        tell(2304)
    lines = [CONTROL.sub("", line) for line in re.split(r"[\r\n]", screen.file.getvalue())]
    shown = [line for line in lines if "2304/4500" in line]
    assert shown
    assert all(len(line) <= width for line in shown)


def test_a_long_name_leaves_room_for_the_number_of_cells(live):
    screen = live(width=80)
    with screen.display.running([(LONG, 1), ("B", 1)]):
        screen.display.update(status(LONG, 0.5, text=""))
        screen.now += 60
        screen.display.update(status(LONG, 0.6, text=""))
        assert "cell 1 of 2  about 2m20s left" in screen.refresh()


def test_no_row_is_ever_squeezed(live):
    """The display is drawn anew at any time, also while a status is being shown."""
    screen = live(width=80)
    display, text = screen.display, "epoch 3/50  loss 0.123  dev 81.25  123,456 tokens/s"
    drawn = []
    with display.running([(LONG, 1), ("B", 1), (f"{LONG}1", 1)]):
        add, update = display._progress.add_task, display._progress.update

        def then_draw(change):
            def changed(*arguments, **options):
                done = change(*arguments, **options)
                drawn.append(screen.refresh())
                return done

            return changed

        display._progress.add_task, display._progress.update = then_draw(add), then_draw(update)
        display.update(status(LONG, 0.1, text="epoch 1/50"))
        display.update(status("B", 0.1, text=text))
        display.update(status(f"{LONG}1", 0.1, text="epoch 1/50"))
    rows = [line for frame in drawn for line in frame.splitlines() if line.strip()]
    assert len(rows) > 12
    assert all("━" in row for row in rows), "every row has its bar"
    assert all(text in row for row in rows if row.startswith("B ") and "epoch" in row)
