// Draws the charts of a page: their specs and data stand as JSON in the block `chart-data`.
// Rows come as columns; the texts of a column are codes into a list, which takes a third of the space.
"use strict";
(async () => {
  const page = JSON.parse(document.getElementById("chart-data").textContent);
  const NARROW = 640; // pixels of a chart
  const preferred = matchMedia("(prefers-color-scheme: dark)"),
    look = document.documentElement.dataset.look;
  const isDark = () => look === "dark" || (look !== "paper" && preferred.matches);
  const unpack = (columns) => {
    const length = Math.max(0, ...columns.map((column) => (column.codes || column.values).length));
    return Array.from({ length }, (_, row) => {
      const datum = {};
      for (const column of columns)
        datum[column.name] = column.codes ? column.values[column.codes[row]] : column.values[row];
      return datum;
    });
  };
  const escapeHtml = (value) =>
    (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value)).replace(
      /[&<>"']/g,
      (char) => `&#${char.charCodeAt(0)};`,
    );
  // Vega's own tooltip would load what a field called `image` names: this one is text only.
  const formatTooltip = (value) =>
    value === null || typeof value !== "object"
      ? escapeHtml(value)
      : "<table>" +
        Object.entries(value)
          .map(
            ([key, text]) =>
              `<tr><td class="key">${escapeHtml(key)}</td><td class="value">${escapeHtml(text)}</td></tr>`,
          )
          .join("") +
        "</table>";
  // A word that is longer than a line loses its middle.
  const cut = (word, columns) => {
    const half = Math.floor((columns - 1) / 2);
    return word.length <= columns ? word : `${word.slice(0, half)}…${word.slice(-half)}`;
  };
  const wrap = (text, columns) =>
    [text].flat().flatMap((line) =>
      line.split(" ").reduce((lines, long) => {
        const word = cut(long, columns);
        const longer = lines.at(-1) + " " + word;
        return lines.length && longer.length <= columns ? [...lines.slice(0, -1), longer] : [...lines, word];
      }, []),
    );
  const SHAPES = {
    circle: "●", square: "■", cross: "✚", diamond: "◆", "triangle-up": "▲", "triangle-down": "▼", "triangle-right": "▶",
    "triangle-left": "◀",
  };
  // Takes the legends of names out of a spec: the colour and the shape of each name.
  const takeLegend = (node, found = new Map()) => {
    if (node === null || typeof node !== "object") return found;
    for (const [channel, value] of Object.entries(node)) {
      const names = value?.legend && value.scale?.range && value.scale.domain;
      if (Array.isArray(names)) {
        value.legend = null;
        names.forEach((name, at) => found.set(name, { ...found.get(name), [channel]: value.scale.range[at] }));
      } else takeLegend(value, found);
    }
    return found;
  };
  // Names of rows become those for a narrow chart, titles of x axes wrap after so many characters, and a colour bar lies above.
  const narrow = (node, brief, columns) => {
    if (node === null || typeof node !== "object") return;
    if (node.legend?.gradientThickness) Object.assign(node.legend, { orient: "top", direction: "horizontal" });
    if (node.field === "row" && node.scale?.domain)
      node.scale.domain = node.scale.domain.map((name) => brief.get(name) ?? name);
    if (typeof node.x?.title === "string") node.x.title = wrap(node.x.title, columns);
    for (const inner of Object.values(node)) narrow(inner, brief, columns);
  };
  // Leaves the rows from one place to another, on as much of the height as they need.
  const keepRows = (spec, first, last) => {
    let kept = null,
      all = 0;
    const cutDomains = (node) => {
      if (node === null || typeof node !== "object") return;
      if (node.field === "row" && node.scale?.domain) {
        all = node.scale.domain.length;
        kept = node.scale.domain = node.scale.domain.slice(first, last);
      } else Object.values(node).forEach(cutDomains);
    };
    cutDomains(spec.layer);
    const names = new Set(kept);
    spec.data.values = spec.data.values.filter((datum) => names.has(datum.row));
    spec.height = Math.round(spec.height * (spec.usermeta.frame + (1 - spec.usermeta.frame) * (kept.length / all)));
  };
  // Panels that stand side by side share the width of the page; where that is too narrow, they stand below each other.
  const fitToWidth = (spec, room) => {
    if (room < NARROW) {
      const across = room - (spec.usermeta?.margin ?? 0);
      if (spec.title) {
        spec.title.text = wrap(spec.title.text, (across - 50) / 9.5);
        spec.title.subtitle = wrap(spec.title.subtitle, (across - 38) / 7.3); // less the button of the menu
      }
      const brief = new Map(spec.usermeta?.brief);
      if (brief.size)
        spec.data.values = spec.data.values.map((datum) => ({ ...datum, row: brief.get(datum.row) ?? datum.row }));
      const longest = spec.data.values.reduce((most, datum) => Math.max(most, datum.row?.length ?? 0), 0);
      const beside = Math.min(0.55 * room, Math.max(85, room - 6.5 * longest - 60));
      narrow({ ...spec, data: null }, brief, (spec.concat ? across : beside) / 7);
    }
    if (!spec.concat || !spec.usermeta?.margin) return;
    const left = spec.usermeta.margin,
      between = spec.spacing.column,
      planned = spec.columns;
    const width = (columns) => Math.floor((room - left - between * (columns - 1)) / columns);
    while (spec.columns > 1 && width(spec.columns) < 180) spec.columns -= 1;
    if (spec.columns < planned) spec.spacing.row += 20;
    for (const view of spec.concat) view.width = Math.max(120, width(spec.columns));
  };
  const charts = page.charts.map((chart, index) => {
    const box = document.getElementById(`chart-${index}`),
      legend = document.getElementById(`legend-${index}`),
      select = document.getElementById(`show-${index}`),
      turns = document.getElementById(`rows-${index}`);
    const rows = unpack(chart.columns);
    let view = null;
    const fillLegend = (looks) => {
      legend.replaceChildren(
        ...[...looks].map(([name, look]) => {
          const entry = document.createElement("button"),
            symbol = document.createElement("i"),
            place = String(chart.names.indexOf(name));
          symbol.textContent = SHAPES[look.shape] ?? (look.strokeDash ? "━" : look.shape ? "●" : "■");
          symbol.style.color = look.color ?? look.stroke ?? "inherit";
          entry.type = "button";
          entry.append(symbol, select && place !== "-1" ? select.options[Number(place) + 1].text : name);
          entry.addEventListener("click", () => {
            if (!select || place === "-1") return;
            select.value = select.value === place ? "" : place;
            show();
          });
          entry.dataset.place = place;
          return entry;
        }),
      );
      legend.hidden = looks.size === 0;
    };
    // `show` is a parameter of the spec.
    const show = () => {
      if (view && select) view.signal("show", select.value === "" ? null : chart.names[+select.value]).run();
      for (const entry of legend.children) entry.setAttribute("aria-pressed", entry.dataset.place === select?.value);
    };
    if (select) select.addEventListener("change", show);
    const draw = async (apart) => {
      if (view) view.finalize();
      const spec = structuredClone(chart.spec);
      spec.data = { values: rows };
      spec.config = { ...(isDark() ? page.dark : page.light), ...spec.config };
      if (turns) keepRows(spec, ...spec.usermeta.groups[turns.value].slice(1));
      fillLegend(apart ? takeLegend(spec) : new Map());
      fitToWidth(spec, box.clientWidth);
      const result = await vegaEmbed(box, spec, {
        ast: true,
        renderer: "canvas",
        downloadFileName: "chart",
        tooltip: { theme: isDark() ? "dark" : "light", formatTooltip: formatTooltip },
        actions: { export: { png: true, svg: true }, source: false, compiled: false, editor: false },
      });
      view = result.view;
      box.querySelector("summary")?.setAttribute("aria-label", "Save the chart");
      show();
      if (!apart && box.clientHeight > innerHeight) await draw(true); // its legend would be out of sight
      return rows.length;
    };
    const drawn = () => draw(box.clientWidth < NARROW);
    if (turns) turns.addEventListener("change", () => drawn().then(() => performance.mark("drawn")));
    return drawn;
  });
  const draw = async () => {
    let drawn = 0;
    for (const chart of charts) drawn += await chart();
    performance.mark("drawn");
    document.documentElement.dataset.drawn = drawn;
  };
  preferred.addEventListener("change", draw);
  await draw();
})();
