"""`python -m day1`."""

from day1.app.cli import main

if __name__ == "__main__":
    main()
