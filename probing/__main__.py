"""`python -m probing` is the command `probe`."""

if __name__ == "__main__":
    from probing.commands import main

    main()
