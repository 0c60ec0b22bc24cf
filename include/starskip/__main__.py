"""Run the command line: ``python -m starskip``."""

from starskip.cli.main import main

if __name__ == "__main__":
    main()
