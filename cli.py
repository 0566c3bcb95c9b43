"""The entry point of `probe` in a checkout: `python cli.py` does what the installed command does."""

from probing.commands import main

if __name__ == "__main__":
    main()
