"""Wrong calls of the command line: one line that says what was meant."""

from __future__ import annotations

import difflib
from itertools import takewhile

import click


class Commands(click.Group):
    """The commands; who leaves `run` out is told so."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            question = " ".join(takewhile(lambda word: not word.startswith("-"), args))
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if question and (not near or question.count(" ") > 1 or "?" in question):
                raise click.UsageError(
                    f'{error.message} A question is researched by: deep-research run "{question}"',
                    ctx,
                ) from error
            raise


def _is_run(error: click.UsageError) -> bool:
    return error.ctx is not None and error.ctx.command.name == "run"


def usage(error: click.UsageError) -> str:
    """Say in one line what is wrong with a call, and how it is mended."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
    if isinstance(error, click.NoSuchOption) and not error.option_name.startswith("--"):
        where += "; a question that begins with '-' comes last, behind ' -- '"
    if error.message.startswith("Got unexpected extra argument") and _is_run(error):
        where += "; put the question in quotes"
    return f"error: {error.format_message().removesuffix('.')}{where}"
