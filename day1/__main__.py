"""`python -m day1`."""

from day1.interfaces.cli.main import main

if __name__ == "__main__":
    main()
