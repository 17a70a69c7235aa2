"""`ctxkit eval`: recorded conversations lived through again; what their requests would have lacked and cost."""

from __future__ import annotations

import argparse
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import Conversation, InputError, Unread, conversations, opened
from ctxkit.cli.outputs import Progress, say, warn, written
from ctxkit.cli.render import plain
from ctxkit.cli.run import MOST_SAID, named
from ctxkit.cli.settings import add_format
from ctxkit.config import Config, load
from ctxkit.errors import ConfigError
from ctxkit.evaluation.prices import Prices
from ctxkit.evaluation.recording import Transcript
from ctxkit.evaluation.runs import Unscored
from ctxkit.evaluation.runs import run as run_all
from ctxkit.evaluation.settings import Setting
from ctxkit.evaluation.tables import Evaluation, Failed, as_json, markdown
from ctxkit.presets import find_preset
from ctxkit.registry import strategy_of

__all__ = ["HELP", "add", "run"]

HELP = "replay recorded conversations and measure what their requests would have lacked and cost"

SHARE = 0.5
"""The budget of strategies when none is given, as a share of the tokens of each conversation."""

ROOMY = 10**9
"""A window for reading a config file whose own is replaced by a share of each conversation."""

MEASURED = ("format", "model", "budget", "strategy", "repair", "store")
"""Settings of a config that the replay has a say in, or no use for; all others are passed on."""

T = TypeVar("T", int, float, str)
Label = tuple[str, Conversation | Unread]


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument(
        "input",
        metavar="IN",
        nargs="+",
        help="recorded conversations as JSON or JSON Lines, .gz too; - is stdin. Each is a list of messages or an "
        "object with `messages` and perhaps `format`, `system`, `tools`, `id`",
    )
    add_format(parser)
    _add_settings(parser)
    parser.add_argument(
        "--tools",
        action="store_true",
        help="send the tool schemas along, and count them (else they are left out)",
    )
    parser.add_argument(
        "--sample", type=_whole, default=1, metavar="N", help="every N-th conversation of each file"
    )
    parser.add_argument("--jobs", type=_whole, default=1, metavar="N", help="processes")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        action="append",
        default=[],
        help="write the tables here, as OUT ends: .md or .json; may be given more than once",
    )
    parser.set_defaults(run=run)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strategies",
        type=_several(str),
        metavar="KINDS",
        help="strategies with their default parameters (hybrid)",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        action="append",
        default=[],
        help="a config file; may be given more than once",
    )
    parser.add_argument(
        "--share",
        type=_several(_share),
        default=[],
        metavar="SHARES",
        help=f"windows as shares of the tokens of each conversation ({SHARE}, but the own window of a config)",
    )
    parser.add_argument(
        "--window", type=_several(_whole), default=[], metavar="SIZES", help="windows in tokens"
    )
    parser.add_argument("--model", metavar="M", help="picks the token counter and the prices")
    parser.add_argument(
        "--prices", metavar="INPUT/CACHED/OUTPUT", help="prices of a token in any unit, as in 1.25/0.125/10"
    )


def _several(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    def read(text: str) -> list[T]:
        return list(dict.fromkeys(kind(each.strip()) for each in text.split(",")))

    return read


def _whole(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share above 0 and up to 1")
    return share


def run(args: argparse.Namespace) -> int:
    """0 when all went well, 3 when some conversations failed."""
    _refuse_other_endings(args.output)
    settings = list(_settings(args))
    evaluation = Evaluation(settings, [_prices(args, setting) for setting in settings])
    _measure(args, evaluation)
    say(markdown(evaluation).rstrip("\n"))
    for target in args.output:
        _write(evaluation, target)
    return 3 if evaluation.failures else 0


def _refuse_other_endings(targets: Sequence[str]) -> None:
    for target in targets:
        if not target.endswith((".md", ".json")):
            raise ConfigError(f"OUT ends in .md or .json, which says what is written; {target!r} does not")


def _settings(args: argparse.Namespace) -> Iterator[Setting]:
    """Each strategy and config at each budget.

    Raises:
        ConfigError: a strategy that is not installed or needs parameters, or a mistake in a config file.
    """
    for share in args.share:
        yield from _of_strategies(args, share=share)
        yield from (_of_config(args, file, share=share) for file in args.config)
    for window in args.window:
        yield from _of_strategies(args, window=window)
        yield from (_of_config(args, file, window=window) for file in args.config)
    if not args.share and not args.window:
        yield from _of_strategies(args, share=SHARE)
        yield from (_of_config(args, file) for file in args.config)


def _of_strategies(
    args: argparse.Namespace, *, share: float | None = None, window: int | None = None
) -> Iterator[Setting]:
    kinds = args.strategies or ([] if args.config else ["hybrid"])
    budget = {} if window is None else {"window": window}
    for kind in kinds:
        yield Setting(kind, strategy_of(kind), share, budget, args.model)


def _of_config(
    args: argparse.Namespace, file: str, *, share: float | None = None, window: int | None = None
) -> Setting:
    config = _config(args, file, ROOMY if share is not None else window)
    budget = config.budget.model_dump(exclude=None if share is None else {"window"})
    manager = {name: getattr(config, name) for name in type(config).model_fields if name not in MEASURED}
    return Setting(plain(file), config.strategy, share, budget, config.model, manager)


def _config(args: argparse.Namespace, file: str, window: int | None) -> Config:
    given = {} if args.model is None else {"model": args.model}
    return load(file, overrides=given if window is None else {**given, "budget": {"window": window}})


def _formats(args: argparse.Namespace) -> Formats:
    return Formats.said(args.format, *(_config(args, file, ROOMY) for file in args.config))


def _prices(args: argparse.Namespace, setting: Setting) -> Prices | None:
    if args.prices is not None:
        return Prices.read(args.prices)
    if setting.model is None or find_preset(setting.model) is None:
        return None
    return Prices.of_model(setting.model)


def _measure(args: argparse.Namespace, evaluation: Evaluation) -> None:
    """Every conversation in every setting; failures are told as they come."""
    progress = Progress()
    labels: deque[Label] = deque()
    names = _names(args.input)
    given = _given(args, _formats(args), labels)
    for count, outcomes in enumerate(run_all(given, evaluation.settings, jobs=args.jobs), 1):
        source, conversation = labels.popleft()
        id = str(conversation.id) if conversation.has_id else None
        for failed in evaluation.add(names[source], conversation.line, id, outcomes):
            progress.clear()
            _tell(failed, named(source, conversation))
        progress.at(count)
    progress.clear()


def _names(sources: Sequence[str]) -> dict[str, str]:
    """What each file is called in tables: its name without the folder, where that is enough to tell it."""
    short = {source: os.path.basename(source) for source in sources}
    same = len(set(short.values())) < len(short)
    return {source: plain(source if same else name) for source, name in short.items()}


def _given(
    args: argparse.Namespace, formats: Formats, labels: deque[Label]
) -> Iterator[Transcript | Unscored]:
    """What is in the files, each noted in `labels` when it is taken.

    Raises:
        OSError: a file cannot be read.
    """
    for source in args.input:
        if source != "-":
            os.stat(source)
    for source in args.input:
        for each in _sampled(source, args, formats):
            labels.append((source, each))
            yield _transcript(each, args)


def _sampled(source: str, args: argparse.Namespace, formats: Formats) -> Iterator[Conversation | Unread]:
    """Every so many conversations of a file; among several files one with nothing in it is a failure.

    Raises:
        InputError: there is nothing in the only file.
    """
    at = -1
    with opened(source) as stream:
        for at, each in enumerate(conversations(stream, name=source, formats=formats)):
            if at % args.sample == 0:
                yield each
    if at < 0:
        nothing = InputError(f"no conversation in {'stdin' if source == '-' else source}")
        if len(args.input) == 1:
            raise nothing
        yield Unread(1, None, False, nothing)


def _transcript(each: Conversation | Unread, args: argparse.Namespace) -> Transcript | Unscored:
    if isinstance(each, Unread):
        return Unscored.of(each.error)
    return Transcript(each.messages, each.format, each.system, each.tools if args.tools else None)


def _tell(failed: Failed, where: str) -> None:
    some = f" ({', '.join(failed.settings)})" if failed.settings else ""
    warn(plain(f"{where}{some}: {failed.failure.type}: {failed.failure.message}", MOST_SAID))


def _write(evaluation: Evaluation, target: str) -> None:
    with written(target) as stream:
        if target.endswith(".json"):
            stream.write(json.dumps(as_json(evaluation), indent=1, allow_nan=False).encode() + b"\n")
        else:
            told = f"# Evaluation\n\n{markdown(evaluation)}"
            stream.write(told.encode("utf-8", "backslashreplace"))
