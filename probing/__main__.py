"""`python -m probing` is the command `probe`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, whose modules may be of unknown origin
    from probing.commands import main

    main()
