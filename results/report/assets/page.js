"use strict";

// Which file is shown; "all" shows every one, and what they have in common.
const selector = document.getElementById("file");
if (selector) {
  const show = () => {
    for (const section of document.querySelectorAll("section[data-run]")) {
      section.hidden = selector.value !== "all" && section.dataset.run !== selector.value;
    }
  };
  selector.addEventListener("change", show);
  show(); // a browser that goes back keeps the choice
}

// Exact values as numbers, names as text; what has no value comes last, whichever way it is sorted.
const keyOf = (row, column, isName) => {
  const cell = row.cells[column];
  if (isName) return cell.textContent;
  return "value" in cell.dataset ? Number(cell.dataset.value) : null;
};

const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);

const sortBy = (table, header) => {
  const column = header.cellIndex;
  const direction = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const isName = !rows.some((row) => "value" in row.cells[column].dataset);
  const keyed = rows.map((row) => [keyOf(row, column, isName), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return direction * compare(a, b);
  });
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  body.append(...keyed.map(([, row]) => row));
};

for (const table of document.querySelectorAll("table.figures")) {
  for (const header of table.tHead.rows[0].cells) {
    header.querySelector("button").addEventListener("click", () => sortBy(table, header));
  }
}
