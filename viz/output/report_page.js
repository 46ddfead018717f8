// A report's tables can be sorted, filtered and copied. Copying takes the rows that are shown; of a number its exact value.
"use strict";
for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table"),
    rows = [...table.tBodies]; // a row, and what is said of it below
  const status = box.querySelector(".status"),
    field = box.querySelector("input"),
    copy = box.querySelector(".copy");
  const value = (row, at) => {
    const cell = row.rows[0].cells[at];
    if (cell.textContent === "") return null;
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) =>
    head.querySelector("button").addEventListener("click", () => {
      const down = tables.turned(head);
      tables.mark(heads, at, down);
      table.append(...tables.sorted(rows, (row) => value(row, at), down));
    }),
  );
  const count = () => {
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent =
      shown === rows.length ? `${shown} row${shown === 1 ? "" : "s"}` : `${shown} of ${rows.length} rows`;
  };
  if (field)
    field.addEventListener("input", () => {
      const wanted = tables.words(field.value);
      for (const row of rows) row.hidden = !tables.holds(row.textContent.toLowerCase(), wanted);
      count();
    });
  copy.addEventListener("click", async () => {
    const line = (row) =>
      [...row.rows]
        .flatMap((line) => [...line.cells])
        .map((cell) => (cell.dataset.v ?? cell.textContent).replace(/[\t\n\r]/g, " "))
        .join("\t");
    const text = [table.tHead, ...table.tBodies]
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
