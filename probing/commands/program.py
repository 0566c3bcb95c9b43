"""The program around the commands: mistakes become one line and exit code 2, signals end it in order."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from probing import __version__
from probing.errors import ProbingError, as_one_line
from probing.signals import Terminated, terminable

UNUSABLE = (
    *(errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
    *(errno.ELOOP, errno.ENXIO, errno.EEXIST, errno.ENODEV, errno.EINVAL, errno.ETXTBSY),
)
"""System errors that say that a name which the user gave cannot be used."""
STOPPED = (130, 143)
"""Exit codes after Ctrl-C and after SIGTERM."""
LIBRARIES = ("filelock", "httpcore", "httpx", "huggingface_hub", "urllib3")
"""Libraries whose log lines are about files and requests of the program."""


class Program(click.Group):
    """A command group that turns a user's mistake into one line and exit code 2."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run as a program, and end at once where Python's own end would be slow or fail.

        After a stop, Python would need a second to unload torch. A process of torchrun may abort while Python ends: the
        threads that talked to the other processes are still there.
        """
        try:
            return super().__call__(*arguments, **options)
        except SystemExit as end:
            code = end.code or 0
            if isinstance(code, int) and (code in STOPPED or "TORCHELASTIC_RUN_ID" in os.environ):
                with suppress(OSError, ValueError):  # the reader of the output has gone
                    sys.stdout.flush()
                    sys.stderr.flush()
                if (finalizers := sys.modules.get("multiprocessing.util")) is not None:
                    finalizers._run_finalizers()  # without it, a warning about leaked semaphores follows
                os._exit(code)
            raise

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _explaining_mistakes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Stray bytes of a file name are printed as escapes, as on stderr.
            sys.stdout.reconfigure(errors="backslashreplace")
        with _explaining_mistakes(), _apart_from_plugins(), terminable():
            _check_current_folder()
            return super().invoke(ctx)


@contextmanager
def _explaining_mistakes() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        _end(_describe(error))
    except ProbingError as error:
        _end(str(error))
    except KeyboardInterrupt as stop:
        sys.exit(STOPPED[isinstance(stop, Terminated)])
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG):
            _end(f"{_name(error.filename, 'a file')} cannot be written ({error.strerror})")
        if error.errno in UNUSABLE and error.filename is not None:
            _end(f"{_name(error.filename)} cannot be used ({error.strerror})")
        raise


@contextmanager
def _apart_from_plugins() -> Iterator[None]:
    """Keep the log lines of the program out of the logging that a plug-in sets up, as every script for SentEval does.

    The program shows its own lines itself; the plug-in's lines are shown as the plug-in says.
    """
    loggers = [logging.getLogger(name) for name in LIBRARIES]
    own, levels = logging.getLogger("probing"), [library.level for library in loggers]
    own.propagate = False
    for library in loggers:
        library.setLevel(logging.WARNING)
    try:
        yield
    finally:
        own.propagate = True
        for library, level in zip(loggers, levels, strict=True):
            library.setLevel(level)


def _name(filename: Any, otherwise: str = "") -> str:
    """Return the name that a system error is about."""
    return os.fsdecode(filename) if isinstance(filename, str | bytes) else otherwise or str(filename)


def _check_current_folder() -> None:
    """End with one line if the current folder was deleted: libraries would fail at any later moment."""
    try:
        os.getcwd()
    except OSError as error:
        _end(f"the current folder cannot be used ({error.strerror}). Change to one that exists")


def _end(line: str) -> NoReturn:
    click.echo(as_one_line(f"probe: {line}"), err=True)
    sys.exit(2)


def _describe(error: click.UsageError) -> str:
    """Return click's message about a wrong option, in the form of all other mistakes."""
    message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "probe"
    return f"{message[:1].lower()}{message[1:]}. See `{command} --help`"


@click.group("probe", cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="probe")
def main() -> None:
    """What does this sentence encoder know about language?

    \b
    probe run --task all --aggregator all   train and score; skips what is done
    probe report                            the table across Base, Simple and EM
    """
