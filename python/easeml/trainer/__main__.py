"""`python -m easeml.trainer COMMAND`: a thin switch; each command imports only what it needs."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="easeml.trainer", description="Reads examples, fits candidates, answers.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    c = commands.add_parser("candidates", help="which candidates suit a program and its data, one JSON object a line")
    c.add_argument("--program", type=Path, required=True, help="the program, as JSON")
    c.add_argument("--profile", type=Path, required=True, help="profile.json, as ingest wrote it")
    c.add_argument("--template", help="the template that the server matched")
    commands.add_parser("catalogue", help="every candidate there is, one JSON object a line")
    for name, text in (("run", "fit the candidate of FOLDER/trial.json"),
                       ("ingest", "read the sources of FOLDER/ingest.json"),
                       ("study", "answer the question about examples or a model in FOLDER/study.json"),
                       ("predict", "load the model in FOLDER, answer requests on stdin")):
        commands.add_parser(name, help=text).add_argument("folder", type=Path, metavar="FOLDER")
    commands.add_parser("serve", help="import everything once, then fork run, ingest and study on request")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status. 0 = the command's files stand."""
    # USR1 means "look at the control file"; before anything listens it must not kill.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    args = _parser().parse_args(argv)
    if args.command == "run":
        from .runner import run
        return run(args.folder)
    if args.command == "ingest":
        from .ingest import ingest
        return ingest(args.folder)
    if args.command == "study":
        from .study import study
        return study(args.folder)
    if args.command == "predict":
        from .predict import serve_model
        return serve_model(args.folder)
    if args.command == "serve":
        from .serve import serve
        return serve()
    from .catalogue import print_candidates, print_catalogue
    if args.command == "candidates":
        return print_candidates(args.program, args.profile, args.template)
    return print_catalogue()


if __name__ == "__main__":
    sys.exit(main())
