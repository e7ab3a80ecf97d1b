"""Show two CSV files side by side: python examples/side_by_side.py BEFORE AFTER COLUMN [ROWS]."""

import csv
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text


def texts(path: Path, column: str) -> list[str]:
    """Return the texts of a column, each on one line."""
    with path.open(encoding="utf-8", newline="") as file:
        return [" ".join(row[column].split()) for row in csv.DictReader(file)]


def main() -> None:
    """Print some rows of both files, spread evenly."""
    before, after, column, *optional = sys.argv[1:]
    row_count = int(optional[0]) if optional else 12
    pairs = list(zip(texts(Path(before), column), texts(Path(after), column), strict=True))
    table = Table("row", f"{column}, before", f"{column}, after", show_lines=True)
    for number in range(0, len(pairs), max(1, len(pairs) // row_count)):
        table.add_row(str(number + 1), *(Text(text) for text in pairs[number]))
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=120)).print(table)


if __name__ == "__main__":
    main()
