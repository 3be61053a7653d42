"""The command `inductorscope`."""

import sys

from inductorscope import __version__


def main() -> None:
    """Runs the command line."""
    if sys.argv[1:] == ["--version"]:  # without the imports that commands need
        print(f"inductorscope {__version__}")
        return
    from inductorscope.cli.app import main as run_command

    run_command()


if __name__ == "__main__":
    main()
