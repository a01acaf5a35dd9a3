"""Shows a run that is over as a page in the browser, from the folder that `understudy run` left: the job as
its network, every incident step by step beside the tuples per second at the sinks, and whether the promises
were kept. The page is served on the loopback interface until Ctrl-C. A run that still runs shows itself with
`understudy run JOB.yaml --console`.
"""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path

from understudy.console.board import Board
from understudy.console.finished_run import read_folder
from understudy.console.look import view_of
from understudy.console.server import ConsoleServer

DONE, BAD_INPUT, LACKING = 0, 2, 3
ANY_PORT = 0


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: understudy console out/telemonitoring"
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --output of a run")
    parser.add_argument(
        "--port", type=port, default=ANY_PORT, metavar="PORT", help="on 127.0.0.1 (default: a free one)"
    )


def run(args: argparse.Namespace) -> int:
    seen = read_folder(args.folder)
    if isinstance(seen, str):
        return _refuse(BAD_INPUT, seen)
    board = Board()
    board.show(view_of(seen))
    server = open_console(board, args.port)
    if isinstance(server, str):
        return _refuse(LACKING, server)
    print(f"the console is at {server.url} until Ctrl-C", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return DONE
    finally:
        server.stop()
    return DONE


def open_console(board: Board, port: int) -> ConsoleServer | str:
    """Or why there can't be one."""
    try:
        return ConsoleServer(board, port)
    except OSError as error:
        return f"the console can't listen on port {port} of this machine: {error.strerror}"


def port(word: str) -> int:
    """A port, for argparse."""
    try:
        found = int(word)
    except ValueError:
        found = -1
    if not 0 <= found <= 65_535:
        raise argparse.ArgumentTypeError(f"{word!r} is no port: write a number from 0 to 65535")
    return found


def _refuse(code: int, sentence: str) -> int:
    print(f"understudy console: {sentence}", file=sys.stderr)
    return code
