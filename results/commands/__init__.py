"""The commands of `python -m results`, one a file: its arguments, and what it does with them."""
