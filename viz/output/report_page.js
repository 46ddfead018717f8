// A report's tables can be sorted, filtered and copied. Sorting is stable, and empty cells stand last either way.
// Copying takes the rows that are shown; of a number its exact value.
"use strict";
for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table"),
    body = table.tBodies[0],
    rows = [...body.rows];
  const status = box.querySelector(".status"),
    field = box.querySelector("input"),
    copy = box.querySelector(".copy");
  const value = (row, at) => {
    const cell = row.cells[at];
    if (cell.textContent === "") return null;
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) =>
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) => {
        const x = value(a, at),
          y = value(b, at);
        if (x === null || y === null) return (x === null) - (y === null);
        const order =
          typeof x === "number" && typeof y === "number"
            ? x - y
            : String(x).localeCompare(String(y), undefined, { numeric: true });
        return down ? -order : order;
      };
      body.append(...[...rows].sort(compare));
    }),
  );
  const count = () => {
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent =
      shown === rows.length ? `${shown} row${shown === 1 ? "" : "s"}` : `${shown} of ${rows.length} rows`;
  };
  if (field)
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      count();
    });
  copy.addEventListener("click", async () => {
    const line = (row) =>
      [...row.cells].map((cell) => (cell.dataset.v ?? cell.textContent).replace(/[\t\n\r]/g, " ")).join("\t");
    const text = [table.tHead.rows[0], ...body.rows]
      .filter((row) => !row.hidden)
      .map(line)
      .join("\n");
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    status.textContent = copied ? "copied, ready to paste into a spreadsheet" : "the browser refused to copy";
    document.documentElement.dataset.copied = text;
    setTimeout(count, 3000);
  });
  count();
}
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
