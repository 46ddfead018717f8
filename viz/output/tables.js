// Tables of a report and of a site: one way to sort and to filter rows.
"use strict";
const tables = (() => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const missing = (x) => x === null || x === undefined || x === "" || Number.isNaN(x);
  // Rows by a value of each: numbers by size, texts as people count; stable, and what has no value stands last either way.
  const sorted = (rows, value, down) =>
    rows
      .map((row) => [value(row), row])
      .sort(([a], [b]) => {
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return (down ? -1 : 1) * (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
      })
      .map(([, row]) => row);
  // Whether a click on a heading sorts downwards: the other way than before, and numbers the largest first.
  const turned = (head) => {
    const now = head.getAttribute("aria-sort");
    return now ? now === "ascending" : head.classList.contains("n");
  };
  const mark = (heads, at, down) =>
    heads.forEach((head, i) =>
      i === at ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"),
    );
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const holds = (text, wanted) => wanted.every((word) => text.includes(word));
  return { collator, sorted, turned, mark, words, holds };
})();
