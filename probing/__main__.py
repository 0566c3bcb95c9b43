"""`python -m probing` is the command `probe`."""

from probing.commands import main

if __name__ == "__main__":
    main()
