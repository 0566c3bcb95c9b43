"""A group of commands that ends with one line and the exit code that README promises, whatever goes wrong."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from probing.errors import ProbingError
from probing.interruption import Terminated, terminable


class Group(click.Group):
    """A command group that turns a user's mistake into one line and exit code 2."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _telling():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _telling(), terminable():
            return super().invoke(ctx)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        _end(_describe(error))
    except ProbingError as error:
        _end(str(error))
    except KeyboardInterrupt as stop:
        sys.exit(143 if isinstance(stop, Terminated) else 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        _end(f"{error.filename or 'a file'} cannot be written ({error.strerror})")


def _end(line: str) -> NoReturn:
    click.echo(f"probe: {line}", err=True)
    sys.exit(2)


def _describe(error: click.UsageError) -> str:
    """Return what click says of a wrong option, in the form of all other mistakes."""
    message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "probe"
    return f"{message[:1].lower()}{message[1:]}. See `{command} --help`"
