// Pages of a published site: runs, cases, comparisons, search. Data come as scripts beside the page, which a browser runs from
// file:// too; each hands over its content by `bench(name, text)`. Whatever is shown is set as text, never as HTML.
"use strict";
(() => {
  const site = JSON.parse(document.getElementById("site").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  const { words, holds } = tables;

  // ---- elements
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true && !name.startsWith("aria-")) node.setAttribute(name, "");
      else if ((value !== false || name.startsWith("aria-")) && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const link = (href, text) => el("a", { href }, text);
  // A number hands over the query that made it; its doubt stays in one line.
  const number = (text, query) => {
    if (!text) return "";
    const [, told, doubt, rest] = /^(.*? )(\(95 %[^)]*\))(.*)$/.exec(text) ?? [null, text, "", ""];
    return el("button", { type: "button", class: "n", "data-q": query }, told, doubt && el("span", { class: "doubt" }, doubt), rest);
  };
  const copyable = (command) =>
    el("button", { type: "button", class: "copy", "data-copy": command, title: "Copy" }, el("code", {}, command));

  // ---- data
  const waiting = new Map(),
    loaded = new Map();
  globalThis.bench = (name, text) => waiting.get(name)?.resolve(text);
  const once = (key, make) => {
    if (!loaded.has(key)) loaded.set(key, make());
    return loaded.get(key);
  };
  // The loop is a function of its own, which a browser compiles once for all files.
  const decoded = (text) => {
    const packed = atob(text),
      bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return bytes;
  };
  const bytesOf = (text) => (Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : decoded(text));
  const load = (name) =>
    once(name, async () => {
      const text = await new Promise((resolve, reject) => {
        waiting.set(name, { resolve });
        const script = el("script", { src: `data/${name}.js` });
        script.addEventListener("error", () => reject(new Error(`data/${name}.js is missing: publish the site again`)));
        document.head.append(script);
      });
      const unpacking = new DecompressionStream("gzip"),
        input = unpacking.writable.getWriter(); // a Blob's stream takes a millisecond more a file
      const whole = new Response(unpacking.readable).arrayBuffer();
      return (await Promise.all([whole, input.write(bytesOf(text)), input.close()]))[0];
    });
  const json = (name) =>
    once(`json ${name}`, async () => JSON.parse(new TextDecoder().decode(await load(name))));
  const tile = (name) =>
    once(`tile ${name}`, async () => {
      const buffer = await load(name),
        length = new DataView(buffer).getUint32(0, true);
      const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
      const count = found.series.length * found.runs;
      let at = 4 + length;
      found.median = new Float64Array(buffer, at, count);
      at += 8 * count;
      for (const more of found.more) {
        found[more] = new Float32Array(buffer, at, count);
        at += 4 * count;
      }
      return found;
    });
  const runs = () =>
    once("runs", async () => {
      const { columns, environments } = await json(site.runs);
      const ids = columns.run_id,
        places = new Map(ids.map((id, place) => [id, place])),
        blocks = [];
      site.tiles.blocks.forEach(([count], block) => {
        for (let place = 0; place < count; place++) blocks.push([block, place]);
      });
      const texts = ids.map((id, i) =>
        [columns.config[i], columns.began_at[i], columns.git_commit[i], columns.git_branch[i], id].join(" ").toLowerCase(),
      );
      return { ...columns, count: ids.length, environments, places, blocks, texts };
    });
  const cases = () =>
    once("cases", async () => {
      const { columns, group, labels, stepped } = await json(site.cases);
      const axes = AXES.filter((axis) => columns[axis]),
        ids = columns.case_id;
      const places = new Map(ids.map((id, place) => [id, place]));
      const texts = ids.map((id, i) => axes.map((axis) => columns[axis][i] ?? "").join(" ").toLowerCase());
      return { ...columns, count: ids.length, axes, group, labels, stepped: new Set(stepped), places, texts };
    });
  const FACTS = { run: "run_id", commit: "git_commit, git_dirty", branch: "git_branch", status: "status", "measured by": "source", machine: "host" };
  const AXES = ["suite", "name", "mode", "device", "dtype", "backend", "batch_size", "sequence_length", "parameters"];
  const HEADINGS = { batch_size: "batch", sequence_length: "length" };
  // The axes in which these cases differ, the name among them, and what they share in words.
  const apartOf = (c, cases) => {
    const apart = c.axes.filter((axis) => axis === "name" || new Set(cases.map((place) => c[axis][place])).size > 1);
    const shared = c.axes.filter((name) => !apart.includes(name) && cases.length && c[name][cases[0]] !== null);
    return [apart, shared.map((name) => `${heading(name)} ${axisOf(c, name, cases[0])}`).join(" · ")];
  };
  const alike = (shared, count) => (shared && count > 1 ? el("p", { class: "soft axes" }, `All of them: ${shared}.`) : "");
  const metricName = (metric, phase) => (phase === null || phase === "steady" ? metric : `${metric} (${phase})`);
  const parameters = (text) => {
    try {
      return Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
    } catch {
      return text; // of no object
    }
  };
  const axisOf = (c, name, place) => {
    const value = c[name][place] ?? "";
    return name === "parameters" && value ? parameters(value) : String(value);
  };
  const NUMERIC = ["batch_size", "sequence_length"];
  const heading = (name) => HEADINGS[name] ?? name;
  // The columns of a table that tell its cases apart; `place` is that of a row.
  const axisColumns = (c, names, place) =>
    names.map((name) => {
      const text = (row) => (place(row) === undefined ? "" : axisOf(c, name, place(row)));
      return {
        name: heading(name),
        numeric: NUMERIC.includes(name),
        value: (row) => (place(row) === undefined ? null : c[name][place(row)]),
        cell: (row) => (name === "name" && place(row) !== undefined ? link(`#/case/${c.case_id[place(row)]}`, text(row) || c.case_id[place(row)]) : text(row)),
      };
    });
  // The name of a case, and of the axes that tell it apart those that the name does not say.
  const labelOf = (c, place, apart) => {
    const others = apart.filter((name) => name !== "name" && c[name][place] !== null && !caseName(c, place).includes(axisOf(c, name, place)));
    return [caseName(c, place), ...others.map((name) => `${heading(name)} ${axisOf(c, name, place)}`)].join(" · ");
  };
  const caseName = (all, i) => [all.name[i], ...["backend", "mode"].map((name) => all[name]?.[i])].filter(Boolean).join(" · ");
  // The beginning of a run's id that no other run has: commands take it for the run.
  const shortest = (all, id) => {
    let length = 13;
    while (length < id.length && all.run_id.filter((one) => one.startsWith(id.slice(0, length))).length > 1) length++;
    return id.slice(0, length);
  };
  const runName = (all, i) => `${all.config[i]} · ${all.began_at[i] ?? all.run_id[i].slice(0, 13)}`;

  // ---- numbers as `bench compare` prints them (warehouse/console/numbers.py): a half goes to the even digit
  const half = (short, long) => {
    const [kept, rest] = [long.slice(0, short.length), long.slice(short.length)];
    return /^50*$/.test(rest.replace(/e.*$/, "").replace(".", "")) && (kept.at(-1) === "." ? kept.at(-2) : kept.at(-1)) % 2 === 0
      ? kept
      : short;
  };
  const fixed = (value, places) => {
    const short = value.toFixed(places),
      long = value.toFixed(Math.min(100, places + 40));
    return half(short, places ? long : long.replace(".", "")).replace(/\.$/, "");
  };
  const significant = (value, digits) => {
    const [short, power] = value.toExponential(digits - 1).split("e"),
      long = value.toExponential(Math.min(100, digits + 39)).split("e");
    return [long[1] === power ? half(short, digits > 1 ? long[0] : long[0].replace(".", "")) : short, Number(power)];
  };
  const trimmed = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);
  const general = (value, digits) => {
    if (!value) return "0";
    const [mantissa, power] = significant(value, digits);
    if (power < -4 || power >= digits)
      return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    return trimmed(fixed(Number(`${mantissa}e${power}`), Math.max(0, digits - 1 - power)));
  };
  const magnitude = (value) => Math.floor(Math.log10(Math.abs(value)));
  const rounded = (value, digits) => {
    const near = Number(value.toPrecision(digits));
    return Math.abs(near) >= 1 && Number.isFinite(near)
      ? fixed(value, Math.max(0, digits - 1 - magnitude(near)))
      : general(value, digits);
  };
  const plain = (value) =>
    !Number.isFinite(value) || value === 0 || !(Math.abs(value) >= 1e-5 && Math.abs(value) < 1e15)
      ? general(value, 6)
      : trimmed(fixed(value, Math.max(0, 5 - magnitude(value))));
  const SCALES = {
    ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
    "bytes/s": [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  };
  const amount = (value, unit) => {
    if (value === null || Number.isNaN(value)) return "";
    if (!SCALES[unit]) {
      const whole = Math.abs(value) >= 1000 && Math.abs(value) < 2 ** 53 ? Number(fixed(value, 0)) : value;
      return plain(whole) + (unit === null || unit === "count" || unit === "ratio" ? "" : ` ${unit}`);
    }
    const found = SCALES[unit].find(([size]) => Number((Math.abs(value) / size).toPrecision(4)) >= 1) ?? SCALES[unit].at(-1);
    return `${trimmed(rounded(value / found[0], 4))} ${found[1]}`;
  };
  const UNITS = new Map(Object.values(SCALES).flatMap((scales) => scales.map(([size, unit]) => [unit, size])));
  // The size of an amount that is printed, for sorting; null of what is none.
  const sizeOf = (text) => {
    const [, value, unit] = /^([−+]?[\d.]+(?:e[+-]\d+)?)(?: (.+))?$/.exec(text ?? "") ?? [];
    return value === undefined ? null : Number(value.replace("−", "-")) * (UNITS.get(unit) ?? 1);
  };
  const times = (value) => {
    const places = value > 0 && value < Infinity ? Math.max(0, Math.min(2, 3 - magnitude(value)), 1 - magnitude(value)) : 2;
    return `${fixed(value, places)}x`;
  };
  const direction = (ratio, unit, better) => {
    const isBetter = ratio > 1,
      isMore = isBetter === (better !== "lower");
    if (better && (unit === "ns" || unit?.endsWith("/s"))) return isBetter ? "faster" : "slower";
    if (unit === "bytes") return isMore ? "larger" : "smaller";
    if (unit === "count") return isMore ? "more" : "fewer";
    if (better) return isBetter ? "better" : "worse";
    return isMore ? "more" : "less";
  };
  // A change without an interval: 1.30x slower; 1.00x where it rounds to 1.
  const changeOf = (ratio, unit, better) => {
    const factor = times(Math.max(ratio, 1 / ratio));
    return parseFloat(factor) === 1 ? times(ratio) : `${factor} ${direction(ratio, unit, better)}`;
  };

  // ---- queries that make a number
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  const literal = (text) => `'${String(text).replaceAll("'", "''")}'`;
  const equals = (column, value) => (value === null ? `${column} IS NULL` : `${column} = ${literal(value)}`);
  const paste = (sql) => (/[$`"\\!]/.test(sql) ? `bench sql ${quoted(sql)}` : `bench sql "${sql}"`);
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const ofRun = (column, id) => paste(`SELECT ${column} FROM run_details WHERE ${equals("run_id", id)}`);
  const ofSeries = (id, metric, phase) => `${equals("case_id", id)} AND ${equals("metric", metric)} AND ${equals("phase", phase)}`;
  const VALUE = "median, median_low, median_high, n, unit";
  const valuesOfCase = (c, id) => (c.stepped.has(c.places.get(id)) ? "step_cells" : "cells");
  const valueQuery = (c, run, id, metric, phase) =>
    paste(`SELECT ${VALUE} FROM ${valuesOfCase(c, id)} WHERE ${equals("run_id", run)} AND ${ofSeries(id, metric, phase)}`);
  const pairOf = (base, candidate) => `comparisons([${literal(base)}], [${literal(candidate)}])`;
  // The condition that a filter is: rows whose columns, as one text, hold every word.
  const containing = (columns, wanted) =>
    wanted.map((word) => `contains(lower(concat_ws(' ', ${columns.join(", ")})), ${literal(word)})`).join(" AND ");
  const where = (...conditions) => conditions.filter(Boolean).join(" AND ") || "true";
  const RUN_TEXT = ["config", "strftime(began_at, '%Y-%m-%d %H:%M')", "git_commit", "git_branch", "run_id"];
  // The rows of a judged pair: one for all metrics of a case that is new, gone, broken or mended, and one for latency and for
  // processor time that says the same.
  const judgedQuery = (pair, condition, folded) => {
    const shown = folded
      ? `coalesce((SELECT max(own.metric) FROM ${pair} AS own WHERE starts_with(one.metric, 'cpu_time')` +
        " AND starts_with(own.metric, 'latency') AND own.case_id = one.case_id AND own.phase IS NOT DISTINCT FROM one.phase" +
        " AND own.verdict = one.verdict AND one.ratio BETWEEN own.low AND own.high), metric)"
      : "metric";
    const apart = `CASE WHEN verdict IN ('ADDED', 'REMOVED', 'BROKEN', 'FIXED') THEN NULL ELSE (${shown}, phase, unit) END`;
    return paste(`SELECT count(*) FROM (SELECT DISTINCT case_id, verdict, ${apart} FROM ${pair} AS one WHERE ${condition})`);
  };
  const bareQuery = (pair, condition) =>
    paste(`SELECT count(*) FROM ${pair} WHERE ${where("is_headline AND coalesce(base_value, candidate_value) IS NOT NULL", condition)}`);

  // ---- tables that sort, filter, and show what there is room for
  const ROWS = 200,
    SHORT = 32; // characters of a cell that stay on one line
  const inOrder = (c) => (a, b) =>
    ["name", "parameters"].map((name) => tables.collator.compare(c[name]?.[a] ?? "", c[name]?.[b] ?? "")).find(Boolean) ?? a - b;
  const table = (columns, rows, { sort, onsort, label }) => {
    let [by, down] = sort ?? [null, false],
      shown = [],
      drawn = 0;
    const body = el("tbody"),
      more = el("button", { type: "button", class: "more", onclick: () => draw(ROWS) }, "Show more"),
      heads = columns.map((column, i) =>
        el(
          "th",
          { scope: "col", class: [column.numeric && "n", column.kind?.() === "spare" && "spare"].filter(Boolean).join(" ") || null },
          el("button", { type: "button", onclick: () => order(i) }, column.name),
        ),
      );
    const draw = (count) => {
      body.append(
        ...shown.slice(drawn, drawn + count).map((row) =>
          el(
            "tr",
            {},
            columns.map((column) => {
              const content = column.cell(row);
              const text = content?.textContent ?? String(content ?? ""),
                kinds = [column.numeric && "n", column.kind?.(row) ?? (text.length <= SHORT && "short")];
              return el("td", { class: kinds.filter(Boolean).join(" ") || null, "data-h": column.name }, content ?? "");
            }),
          ),
        ),
      );
      drawn = Math.min(shown.length, drawn + count);
      more.hidden = drawn === shown.length;
    };
    const order = (i) => {
      [by, down] = [i, tables.turned(heads[i])];
      onsort?.(by, down);
      update();
    };
    let keep = () => true;
    const update = (filter = keep) => {
      keep = filter;
      shown = rows.filter(keep);
      if (by !== null && columns[by]) {
        shown = tables.sorted(shown, columns[by].value ?? columns[by].cell, down);
      }
      tables.mark(heads, by, down);
      body.replaceChildren();
      drawn = 0;
      draw(ROWS);
      return shown.length;
    };
    const node = el(
      "div",
      { class: "scroll", tabindex: 0 },
      el("table", { class: "stack", "aria-label": label }, el("thead", {}, el("tr", {}, heads)), body),
      more,
    );
    globalThis.onbeforeprint = () => node.isConnected && draw(shown.length);
    return { node, update };
  };
  // A field that filters a table, and how many of its rows are shown. `query` makes the number, of the words that are typed.
  const filterOf = (found, count, { label, text, keep, query, onchange }) => {
    const tally = el("span", { class: "soft", role: "status" });
    const update = () => {
      const wanted = words(field.value),
        shown = found.update((row) => keep(row, wanted));
      const told = shown < count ? `${shown.toLocaleString("en")} of ${plural(count, "row")}` : plural(count, "row");
      tally.replaceChildren(number(told, query(wanted)));
    };
    const oninput = () => {
      onchange?.(field.value);
      update();
    };
    const field = el("input", { type: "search", placeholder: label, "aria-label": label, value: text ?? "", oninput });
    update();
    return { nodes: [field, tally], update };
  };

  // ---- a field that suggests
  const suggest = (input, list, find, choose) => {
    let found = [],
      at = -1;
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const mark = (next) => {
      at = next;
      [...list.children].forEach((item, i) => item.setAttribute("aria-selected", i === at));
      if (list.children[at]) {
        input.setAttribute("aria-activedescendant", list.children[at].id);
        list.children[at].scrollIntoView({ block: "nearest" });
      }
    };
    const update = async () => {
      const text = input.value;
      const answers = await find(words(text));
      if (text !== input.value || document.activeElement !== input) return;
      found = answers;
      list.replaceChildren(
        ...found.map(({ text, kind }, i) =>
          el(
            "li",
            { role: "option", id: `${list.id}-${i}`, onpointerdown: (event) => { event.preventDefault(); take(i); } },
            kind ? el("span", { class: "kind" }, kind) : "",
            el("span", {}, text),
          ),
        ),
      );
      list.hidden = false;
      if (!found.length) list.append(el("li", { class: "none" }, "nothing found"));
      input.setAttribute("aria-expanded", "true");
      mark(found.length && text ? 0 : -1);
      input.dataset.found = found.length;
    };
    const take = (i) => {
      if (!found[i]) return;
      close();
      choose(found[i]);
    };
    input.addEventListener("input", update);
    input.addEventListener("focus", update);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        mark((at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
      } else if (event.key === "Enter") {
        event.preventDefault();
        take(Math.max(0, at));
      } else if (event.key === "Escape") {
        close();
        input.blur();
      }
    });
  };
  const newest = (all, wanted, most) => {
    const found = [];
    for (let i = all.count - 1; i >= 0 && found.length < most; i--) if (holds(all.texts[i], wanted)) found.push(i);
    return found;
  };
  const search = async (wanted) => {
    if (!wanted.length) return [];
    const [r, c] = await Promise.all([runs(), cases()]);
    const found = Object.entries(site.incidents)
      .filter(([, text]) => holds(text.toLowerCase(), wanted))
      .slice(0, 4)
      .map(([anchor, text]) => ({ kind: "change", text, to: `#${anchor}` }));
    const places = [];
    for (let i = 0; i < c.count && places.length < 8; i++) if (holds(c.texts[i], wanted)) places.push(i);
    const [apart] = apartOf(c, places);
    for (const place of places) found.push({ kind: "case", text: labelOf(c, place, apart), to: `#/case/${c.case_id[place]}` });
    for (const i of newest(r, wanted, 6))
      found.push({ kind: "run", text: `${runName(r, i)} · ${(r.git_commit[i] ?? r.run_id[i]).slice(0, 12)}`, to: to("run", r.run_id[i]) });
    return found;
  };

  // ---- addresses
  const to = (page, ...parts) => `#/${[page, ...parts.map(encodeURIComponent)].join("/")}`;
  const read = () => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    return { parts: path.split("/").filter(Boolean).map(decode), state: new URLSearchParams(query ?? "") };
  };
  const decode = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const remember = (state) => {
    const path = location.hash.split("?")[0],
      query = [...state].filter(([, value]) => value !== "");
    const text = new URLSearchParams(query).toString();
    history.replaceState(null, "", text ? `${path}?${text}` : path);
  };

  // ---- charts that were drawn when publishing
  const drawnCharts = async (of) => {
    const found = (await json(site.figures))[of] ?? [];
    return found.length === 0 ? "" : el("div", { class: "drawn" }, found.map(([file, narrow, told, facts, command]) =>
      el("figure", {}, el("figcaption", { "data-q": command }, el("b", {}, told), el("p", { class: "soft" }, facts)), el("a", { class: "plate", href: file }, el("picture", {}, el("source", { media: "(max-width: 480px)", srcset: narrow }), el("img", { src: file, alt: told }))), copyable(command))));
  };

  // ---- the charts of a case
  const chart = (r, points, changes, unit, query, all) => {
    const box = el("div", { class: "chart" }),
      told = el("p", { class: "readout", "aria-live": "polite" });
    let [from, upto] = [0, points.length - 1];
    const HEIGHT = 300,
      LEFT = 74,
      BOTTOM = 34,
      TOP = 14;
    const draw = () => {
      const width = Math.max(280, box.clientWidth || 900),
        shown = points.slice(from, upto + 1),
        values = shown.flatMap((p) => (Number.isNaN(p.value) ? [] : [p.low ?? p.value, p.value, p.high ?? p.value]));
      box.replaceChildren();
      if (!values.length) return void box.append(el("p", {}, "Nothing was measured in these runs."));
      const least = Math.min(...values),
        most = Math.max(...values),
        room = (most - least) * 0.08 || Math.abs(most) * 0.02 || 1,
        [low, high] = [least - room, most + room];
      const step = (width - LEFT - 16) / Math.max(1, shown.length - 1),
        x = (i) => (shown.length === 1 ? (LEFT + width) / 2 : LEFT + 8 + (i - from) * step),
        y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
      const parts = [];
      const size = SCALES[unit]?.find(([one]) => most >= one)?.[0] ?? 1,
        rough = (high - low) / size / 4,
        power = 10 ** Math.floor(Math.log10(rough)),
        stride = size * power * [1, 2, 5, 10].find((one) => one * power >= rough * 0.8);
      for (let value = Math.ceil(low / stride) * stride; value <= high; value += stride) {
        parts.push(svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(value), y2: y(value) }));
        parts.push(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, amount(value, unit)));
      }
      const apart = Math.max(1, Math.ceil((shown.length - 1) / Math.max(1, Math.min(6, Math.floor(width / 150) - 1))));
      for (let i = upto; i >= from && shown.length > 1; i -= apart) {
        const anchor = i === from ? "start" : i === upto ? "end" : "middle";
        const day = r.began_at[points[i].run]?.slice(0, 10) ?? r.run_id[points[i].run].slice(0, 8);
        parts.push(svg("text", { x: x(i), y: HEIGHT - 6, "text-anchor": anchor }, day));
      }
      points.forEach((p, i) => {
        if (i < from || i > upto || !p.mark) return;
        parts.push(
          svg("line", { class: "environment", x1: x(i) - step / 2, x2: x(i) - step / 2, y1: TOP, y2: HEIGHT - BOTTOM }, svg("title", {}, p.mark)),
        );
      });
      let path = "",
        pen = "M";
      shown.forEach((p, k) => {
        if (Number.isNaN(p.value)) return void (pen = "M");
        path += `${pen}${x(from + k).toFixed(1)} ${y(p.value).toFixed(1)}`;
        pen = "L";
      });
      parts.push(svg("path", { class: "line", d: path }));
      const dense = shown.length > width / 4;
      shown.forEach((p, k) => {
        if (p.ended && Number.isNaN(p.value))
          parts.push(svg("text", { class: "failed", x: x(from + k), y: HEIGHT - BOTTOM - 2, "text-anchor": "middle" }, "×", svg("title", {}, p.ended)));
        if (dense || Number.isNaN(p.value)) return;
        if (p.low !== undefined)
          parts.push(svg("line", { class: "interval", x1: x(from + k), x2: x(from + k), y1: y(p.low), y2: y(p.high) }));
        parts.push(svg("circle", { class: "point", cx: x(from + k), cy: y(p.value), r: 2.5 }));
      });
      const boundaries = [0, ...changes.map((change) => points.findIndex((p) => p.run >= change.since)), points.length].sort((a, b) => a - b);
      for (const change of changes) {
        const at = points.findIndex((p) => p.run >= change.since),
          end = points.findIndex((p) => p.run >= change.until);
        if (at < from || at > upto) continue;
        const kind = /FASTER|BETTER/.test(change.verdict) ? "better" : /SLOWER|WORSE/.test(change.verdict) ? "worse" : "other";
        const stretch = change.kind === "excursion" ? end : upto;
        parts.push(
          svg("line", { class: `change ${kind}`, x1: x(at) - step / 2, x2: x(at) - step / 2, y1: TOP, y2: HEIGHT - BOTTOM }, svg("title", {}, change.text)),
        );
        for (const [first, last, value] of [
          [Math.max(from, boundaries.findLast((one) => one < at) ?? 0), at - 1, change.before],
          [change.kind === "drift" ? end : at, Math.min(stretch, upto, (boundaries.find((one) => one > at) ?? points.length) - 1), change.after],
        ])
          if (last >= first && value >= low && value <= high)
            parts.push(svg("line", { class: `level ${last < at ? "before" : kind}`, x1: x(first), x2: Math.max(x(last), x(first) + 6), y1: y(value), y2: y(value) }));
      }
      const cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, x1: -9, x2: -9 }),
        band = svg("rect", { class: "band", y: TOP, height: HEIGHT - TOP - BOTTOM, x: -9, width: 0 });
      const node = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": "Values by run", tabindex: 0, "data-q": all }, parts, band, cursor);
      const nearest = (event) => {
        const left = node.getBoundingClientRect().left;
        return Math.max(from, Math.min(upto, from + Math.round((event.clientX - left - LEFT - 8) / step)));
      };
      const say = (i) => {
        const p = points[i];
        cursor.setAttribute("x1", x(i));
        cursor.setAttribute("x2", x(i));
        const doubt = p.low !== undefined ? ` (95 % ${amount(p.low, unit)}–${amount(p.high, unit)})` : "",
          samples = p.n > 1 ? ` · n=${p.n}` : "";
        told.replaceChildren(
          link(to("run", r.run_id[p.run]), runName(r, p.run)),
          r.git_commit[p.run] ? " · " : "",
          number(r.git_commit[p.run]?.slice(0, 12) ?? "", ofRun("git_commit", r.run_id[p.run])),
          " · ",
          Number.isNaN(p.value) ? (p.ended ?? "not measured") : number(`${amount(p.value, unit)}${doubt}${samples}`, query(r.run_id[p.run])),
          p.mark ? ` · ${p.mark}` : "",
        );
        at = i;
      };
      let began = null,
        at = upto;
      node.addEventListener("pointermove", (event) => {
        say(nearest(event));
        if (began === null) return;
        const [a, b] = [began, nearest(event)].sort((one, two) => one - two);
        band.setAttribute("x", x(a));
        band.setAttribute("width", x(b) - x(a));
      });
      node.addEventListener("pointerdown", (event) => (began = nearest(event)));
      node.addEventListener("pointerup", (event) => {
        const [a, b] = [began, nearest(event)].sort((one, two) => one - two);
        began = null;
        if (b - a >= 3) zoom(a, b);
      });
      node.addEventListener("dblclick", () => zoom(0, points.length - 1));
      node.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (move) {
          event.preventDefault();
          say(Math.max(from, Math.min(upto, at + move)));
        } else if (event.key === "+") zoom(Math.max(0, at - (upto - from) / 4) | 0, Math.min(points.length - 1, at + (upto - from) / 4) | 0);
        else if (event.key === "-") zoom(0, points.length - 1);
      });
      box.append(node);
      say(points.findLastIndex((p, i) => i <= upto && !Number.isNaN(p.value)));
    };
    const zoom = (a, b) => {
      if (b - a < 2) return;
      [from, upto] = [a, b];
      draw();
    };
    const last = (count) => el("button", { type: "button", onclick: () => zoom(Math.max(0, points.length - count), points.length - 1) }, count >= points.length ? "all" : `last ${count}`);
    const counts = [...new Set([30, 100, 300, points.length].filter((count) => count <= points.length && count > 2))];
    new ResizeObserver(() => {
      if (box.isConnected && box.firstChild?.getAttribute("width") !== String(box.clientWidth)) draw();
    }).observe(box);
    return { node: el("div", {}, el("p", { class: "zoom", role: "group", "aria-label": "Runs shown" }, counts.map(last), points.length > 3 ? el("span", { class: "soft" }, " drag to zoom, double-click for all") : ""), box, told), draw };
  };
  const environmentMark = (r, before, now) => {
    if (before === null) return null;
    const parts = [];
    if (r.host[before] !== null && r.host[now] !== null && r.host[before] !== r.host[now]) parts.push(`host ${r.host[before]} → ${r.host[now]}`);
    const [one, two] = [before, now].map((run) => r.environments[r.environment[run]] ?? {});
    if (r.environment[before] !== r.environment[now])
      for (const name of new Set([...Object.keys(one), ...Object.keys(two)]))
        if (one[name] !== two[name]) parts.push(`${name} ${one[name] ?? "?"} → ${two[name] ?? "?"}`);
    return parts.length ? parts.slice(0, 6).join(", ") : null;
  };

  // ---- what the words of a verdict mean, of those that a table has
  const MEANINGS = [
    ["faster, slower, better, worse", /^(FASTER|SLOWER|BETTER|WORSE)/, "A change that is large enough to matter and that chance does not explain."],
    ["likely", /^LIKELY/, "As before, but how much runs differ from one another was assumed, not measured."],
    ["same", /^SAME/, "A change that is large enough to matter would have been seen."],
    ["unsure", /^UNSURE/, "The interval holds both a change that matters and none."],
    ["changed", /^CHANGED/, "A count differs of which nobody says whether more is better."],
    ["added, removed", /^(ADDED|REMOVED)/, "Measured on one side only."],
    ["broken, fixed", /^(BROKEN|FIXED)/, "It worked on one side only."],
    ["interval", / %/, "In brackets: it holds the true change nineteen times in twenty."],
    ["q", /\bq (=|below)/, "The share of false alarms to expect among all changes that are at least as clear."],
    ["noise of a run", /noise of a run/, "How much two runs of the same code differ."],
    ["not confirmed", /not confirmed/, "Nobody has measured it again."],
    ["smallest detectable", /smallest detectable/, "A smaller change would not have been seen in these runs."],
  ];
  const glossary = (rows, reasons) => {
    const texts = [...new Set([...reasons, ...rows.flatMap((row) => [row.verdict, row.why, row.change])])];
    const used = MEANINGS.filter(([, told]) => texts.some((text) => told.test(text)));
    return used.length ? el("details", {}, el("summary", {}, "What the words mean"), el("dl", {}, used.flatMap(([name, , meaning]) => [el("dt", {}, name), el("dd", {}, meaning)]))) : "";
  };

  // ---- pages
  const pages = {
    async case([id], state) {
      const [r, c, changes] = await Promise.all([runs(), cases(), json(site.changes)]);
      const place = c.places.get(id);
      if (place === undefined) return missing(`No case ${id} is published here.`);
      const blocks = site.tiles.blocks;
      const tiles = await Promise.all(blocks.map((block) => (block[1 + c.group[place]] ? tile(block[1 + c.group[place]]) : null)));
      const series = new Map(),
        ended = new Map();
      let first = 0;
      tiles.forEach((found, b) => {
        const own = found?.cases.indexOf(id) ?? -1;
        if (own >= 0) {
          found.series.forEach(([at, label], row) => {
            if (at !== own) return;
            const key = JSON.stringify(found.labels[label]);
            if (!series.has(key)) series.set(key, new Map());
            for (let k = 0; k < found.runs; k++) {
              const value = found.median[row * found.runs + k];
              if (Number.isNaN(value)) continue;
              const more = (name) => found[name]?.[row * found.runs + k];
              const [low, high] = ["median_low", "median_high"].map(more).map((end) => (Number.isNaN(end) ? undefined : end)); // of another case
              series.get(key).set(first + k, { value, low, high, n: more("n") ?? 1 });
            }
          });
          for (const [at, run, text] of found.ended) if (at === own) ended.set(first + run, text);
        }
        first += blocks[b][0];
      });
      const keys = [...series.keys()].sort((a, b) => order(c, a) - order(c, b));
      const title = caseName(c, place);
      document.title = title;
      const about = c.axes.filter((name) => c[name][place] !== null && name !== "name").map((name) => `${heading(name)} ${axisOf(c, name, place)}`);
      const head = [el("h1", {}, c.name[place] ?? "case"), el("p", { class: "lead axes" }, about.join(" · "))];
      const endings = new Map();
      for (const [run, text] of ended) endings.set(text, [...(endings.get(text) ?? []), run]);
      const failures = paste(`SELECT count(DISTINCT run_id) FROM case_outcomes WHERE failed AND ${equals("case_id", id)}`);
      const failedIn = [...endings].map(([text, own]) => el("li", { "data-q": failures }, `${text} · `, plural(own.length, "run"), ", the newest ", link(to("run", r.run_id[own.at(-1)]), runName(r, own.at(-1)))));
      if (!keys.length) return [...head, el("p", {}, "Nothing was measured of it."), el("ul", {}, failedIn)];
      const chosen = keys.includes(state.get("m")) ? state.get("m") : (keys.find((key) => changes.some((row) => row[0] === id && row[2] === JSON.parse(key)[0])) ?? keys[0]);
      const [metric, phase, unit] = JSON.parse(chosen);
      const values = series.get(chosen);
      const configs = [...new Set([...values.keys()].map((run) => r.config[run]))];
      const config = configs.includes(state.get("c")) ? state.get("c") : configs.at(-1);
      const points = [];
      let before = null;
      for (let run = 0; run < r.count; run++) {
        if (r.config[run] !== config || !(values.has(run) || ended.has(run))) continue;
        points.push({ run, value: NaN, ...values.get(run), ended: ended.get(run), mark: environmentMark(r, before, run) });
        before = run;
      }
      const own = changes.filter((row) => row[0] === id && row[1] === config && row[2] === metric && row[3] === phase).map(asChange);
      const go = (name) => (event) => {
        state.set(name, event.target.value);
        location.hash = `${location.hash.split("?")[0]}?${state}`;
      };
      const select = (name, options, now, show) =>
        options.length < 2 ? "" : el("select", { "aria-label": name === "m" ? "Metric" : "Config", onchange: go(name) }, options.map((value) => el("option", { value, selected: value === now }, show(value))));
      const condition = `${equals("config", config)} AND ${ofSeries(id, metric, phase)}`;
      const all = paste(`SELECT run_id, began_at, ${VALUE} FROM ${valuesOfCase(c, id)} JOIN run_details USING (run_id, config) WHERE ${condition} ORDER BY began_at`);
      const changed = paste(`FROM change_points WHERE ${condition}`);
      const moments = paste(`SELECT DISTINCT name, backend FROM change_points WHERE incident IN (SELECT incident FROM change_points WHERE ${condition})`);
      const measured = number(plural(points.filter((p) => !Number.isNaN(p.value)).length, "value"), all);
      const drawn = chart(r, points, own, unit, (run) => valueQuery(c, run, id, metric, phase), all);
      const options = ["--models", c.name[place], "--metrics", metric, "--configs", config].map((word) => quoted(String(word)));
      const marks = points.filter((p) => p.mark);
      const incidents = new Set(own.map((change) => change.incident));
      const moved = new Map(); // of each name the first
      for (const row of changes) {
        const name = incidents.has(row[12]) && row[0] !== id && named(c, row[0], place);
        if (name && !moved.has(name)) moved.set(name, row[0]);
      }
      const neighbours = [...moved];
      const node = [
        ...head,
        el("p", { class: "choose" }, select("m", keys, chosen, (key) => metricName(...JSON.parse(key))), select("c", configs, config, String), keys.length < 2 ? metricName(metric, phase) : ""),
        drawn.node,
        marks.length ? el("details", { open: marks.length < 4 }, el("summary", {}, "Dotted lines: the machine or its software changed"), el("ul", { class: "changes" }, marks.reverse().map((p) => el("li", {}, link(to("run", r.run_id[p.run]), runName(r, p.run)), ": ", number(p.mark, ofRun("host, driver, python, torch, packages, cpu, gpus", r.run_id[p.run])))))) : "",
        own.length
          ? el("ul", { class: "changes" }, own.map((change) =>
              el("li", { "data-q": changed }, verdict(change.verdict), ` ${change.kind} since `, link(to("run", r.run_id[change.since]), runName(r, change.since)), ": ", number(change.text, changed), change.note ? ` · ${change.note}` : "", " · ", link(`#${change.incident}`, "what happened then"))))
          : el("p", {}, points.length < 9 ? [measured, ": a change can be told from chance from nine on."] : ["No change found in ", measured, "."]),
        neighbours.length ? el("p", { "data-q": moments }, "Moved with it: ", neighbours.slice(0, 12).flatMap(([name, other], i) => [i ? ", " : "", link(`#/case/${other}`, name)]), neighbours.length > 12 ? `, and ${neighbours.length - 12} more` : "") : "",
        el("p", { class: "again" }, copyable(`bench history ${options.join(" ")}`)),
      ];
      return [node, drawn.draw];
    },

    async run([id]) {
      const [r, c] = await Promise.all([runs(), cases()]);
      const run = r.places.get(id);
      if (run === undefined) return missing(`No run ${id} is published here.`);
      const rows = await valuesOf(r, c, run);
      document.title = runName(r, run);
      const facts = [
        ["run", id], ["commit", (r.git_commit[run] ?? "") + (r.git_dirty[run] ? " + changes" : "")], ["branch", r.git_branch[run]], ["status", r.status[run]],
        ["measured by", r.source[run]], ["machine", r.machine[run] ?? (r.host[run] && `host ${r.host[run]}`)],
        ...Object.entries(r.environments[r.environment[run]] ?? {}),
      ].filter(([, value]) => value);
      let previous = run - 1;
      while (previous >= 0 && r.config[previous] !== r.config[run]) previous--;
      const counts = ["cases", "failed", "steps", "rejected"].filter((name) => r[name][run]);
      const ending = (place) => paste(`SELECT kind, status, phase, exception, exit_code FROM case_outcomes WHERE failed AND ${equals("run_id", id)} AND ${equals("case_id", c.case_id[place])}`);
      const failed = [...rows.ended].map(([place, text]) => ({ place, text, log: rows.logs.get(place) }));
      const namesakes = new Map();
      for (const { place } of failed) namesakes.set(caseName(c, place), [...(namesakes.get(caseName(c, place)) ?? []), place]);
      const found = valueTable(r, c, run, rows.values);
      const filter = filterOf(found, rows.values.length, {
        label: "filter cases",
        keep: (row, wanted) => holds(c.texts[row.place], wanted),
        query: (wanted) => paste(`SELECT count(DISTINCT case_id) FROM _all_cells WHERE ${where(equals("run_id", id), site.kept, containing(c.axes, wanted))}`),
      });
      return [
        el("h1", {}, runName(r, run)),
        el("p", { class: "lead" }, counts.flatMap((name, i) => [i ? " · " : "", number(r[name][run].toLocaleString("en"), ofRun(name, id)), ` ${r[name][run] === 1 ? name.replace(/s$/, "") : name}`])),
        previous >= 0 ? el("p", {}, link(to("compare", r.run_id[previous], id), `Compare with the run before, ${r.began_at[previous] ?? r.run_id[previous]}`)) : "",
        failed.length ? el("details", { open: failed.length < 20 || !rows.values.length }, el("summary", {}, "Failed cases"), el("ul", {}, failed.map((one) => el("li", {}, link(`#/case/${c.case_id[one.place]}`, labelOf(c, one.place, apartOf(c, namesakes.get(caseName(c, one.place)))[0])), " · ", number(one.text, ending(one.place)), one.log ? el("details", { class: "log" }, el("summary", {}, "log"), el("pre", { tabindex: 0 }, one.log)) : "")))) : "",
        r.rejected[run] ? el("p", {}, "Records that could not be read: ", copyable(paste(`FROM rejected_records WHERE ${equals("run_id", id)}`))) : "",
        await drawnCharts(id),
        rows.values.length ? el("div", { class: "tools" }, el("h2", {}, "Cases"), filter.nodes) : el("p", {}, "Nothing was measured in it that comparisons judge."),
        alike(found.shared, rows.values.length),
        rows.values.length ? found.node : "",
        found.further ? el("p", { class: "soft" }, "Further metrics, and those of few cases, are on the pages of the cases.") : "",
        el("h2", {}, "Environment"),
        el("dl", {}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, number(String(value), ofRun(FACTS[name] ?? site.facts[name] ?? "packages", id)))])),
        el("p", { class: "again" }, copyable(`bench show ${quoted(shortest(r, id))}`)),
      ];
    },

    async compare([base, candidate], state) {
      if (!base && site.opening) {
        [base, candidate] = site.opening;
        history.replaceState(null, "", to("compare", base, candidate));
      }
      const r = await runs();
      if (!r.count) return [el("h1", {}, "Compare"), el("p", {}, "Nothing is recorded yet.")];
      const chosen = [base, candidate].map((id) => r.places.get(id));
      const pick = (side) => {
        const input = el("input", { type: "search", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `pick-${side}`, autocomplete: "off", spellcheck: "false", id: `side-${side}`,
          placeholder: "config, commit, day or run", value: chosen[side] === undefined ? "" : runName(r, chosen[side]) });
        const list = el("ul", { role: "listbox", id: `pick-${side}`, hidden: true, "aria-label": "Runs" });
        suggest(input, list, async (wanted) => newest(r, chosen[side] !== undefined && input.value === runName(r, chosen[side]) ? [] : wanted, 12).map((run) => ({ run, text: `${runName(r, run)} · ${(r.git_commit[run] ?? r.run_id[run]).slice(0, 12)}` })), ({ run }) => {
          const ids = [base, candidate].map((id) => (id && r.places.has(id) ? id : "-"));
          ids[side] = r.run_id[run];
          location.hash = to("compare", ...ids);
        });
        input.addEventListener("focus", () => input.select());
        return el("label", { class: "pick" }, ["base", "candidate"][side], el("span", {}, input, list));
      };
      const head = [el("h1", {}, "Compare"), el("div", { class: "picks" }, pick(0), el("a", { class: "swap", href: to("compare", candidate ?? "-", base ?? "-"), title: "Swap the sides", "aria-label": "Swap the sides" }, "⇄"), pick(1))];
      if (chosen.includes(undefined)) return [...head, el("p", {}, "Choose two runs: type a config, the beginning of a commit, or a day.")];
      if (base === candidate) return [...head, el("p", {}, "Both sides are the same run.")];
      document.title = `${runName(r, chosen[0])} → ${runName(r, chosen[1])}`;
      const c = await cases();
      const pair = site.pairs[`${base}|${candidate}`];
      const { rows, said, also, reasons, known } = pair ? await judgedRows(c, pair) : await bareRows(r, c, ...chosen);
      const command = `bench compare ${quoted(base)} ${quoted(candidate)}`;
      if (!rows.length) return [...head, el("p", {}, "Neither run has a value that comparisons judge."), el("p", { class: "again" }, copyable(command))];
      const turned = !pair && site.pairs[`${candidate}|${base}`] ? el("p", {}, link(to("compare", candidate, base), "The other way round they were judged.")) : "";
      const sides = new Set(chosen.map((run) => r.config[run]));
      const since = pair ? r.config.filter((config) => sides.has(config)).length - known : 0;
      const both = pairOf(base, candidate);
      const query = (row) => paste(`SELECT base_value, candidate_value, ratio, low, high, verdict, evidence, reason FROM ${both} WHERE ${row.label ? ofSeries(row.id, ...row.label) : `${equals("case_id", row.id)} AND metric IS NULL`}`);
      const metrics = (row) => (/ and \d+ more$/.test(row.metric) ? number(row.metric, paste(`SELECT metric, phase, verdict, reason FROM ${both} WHERE ${equals("case_id", row.id)}`)) : row.metric);
      const counts = new Map();
      for (const row of rows) counts.set(row.verdict, (counts.get(row.verdict) ?? 0) + 1);
      const changed = [...counts.keys()].filter((name) => !["SAME", "UNSURE", ""].includes(name));
      const all = [...counts.keys()];
      const shown = new Set(state.has("v") ? state.get("v").split(",") : changed.length ? changed : all);
      const [shownAxes, shared] = apartOf(c, [...new Set(rows.map((row) => row.place))].filter((place) => place !== undefined));
      const columns = [
        ...axisColumns(c, shownAxes, (row) => row.place),
        { name: "metric", cell: metrics, value: (row) => row.metric },
        { name: "base", numeric: true, cell: (row) => number(row.base, query(row)), value: (row) => sizeOf(row.base) },
        { name: "candidate", numeric: true, cell: (row) => number(row.candidate, query(row)), value: (row) => sizeOf(row.candidate) },
        { name: "difference", numeric: true, kind: () => "spare", cell: (row) => number(row.difference, query(row)), value: (row) => sizeOf(row.difference) },
        { name: "change", numeric: true, kind: () => "change", cell: (row) => number(row.change, query(row)), value: (row) => row.size },
        ...(pair ? [{ name: "verdict", cell: (row) => el("div", {}, verdict(row.verdict), el("p", { class: "soft", "data-q": query(row) }, row.why)), value: (row) => row.verdict, kind: () => "why" }] : []),
      ];
      const [by, down] = (state.get("s") ?? "").split(":");
      const found = table(columns, rows, {
        sort: by ? [Number(by), down === "d"] : null,
        onsort: (i, isDown) => { state.set("s", `${i}:${isDown ? "d" : "u"}`); remember(state); },
        label: "Cases",
      });
      const folded = rows.some((row) => row.metric?.endsWith(", cpu_time"));
      const counted = (names, wanted = []) => {
        const judged = `coalesce(verdict, '') IN (${names.map(literal).join(", ") || "NULL"})`,
          told = containing([...c.axes, "metric", "phase", ...(pair ? ["verdict", "evidence", "reason"] : [])], wanted);
        return pair ? judgedQuery(both, where(judged, told), folded) : bareQuery(both, told);
      };
      const filter = filterOf(found, rows.length, {
        label: "filter",
        text: state.get("q"),
        keep: (row, wanted) => shown.has(row.verdict) && row.texts.some((text) => holds(text, wanted)),
        query: (wanted) => counted([...shown], wanted),
        onchange: (text) => { state.set("q", text); remember(state); },
      });
      const chip = (name) => {
        const toggle = (event) => {
          shown.has(name) ? shown.delete(name) : shown.add(name);
          event.currentTarget.setAttribute("aria-pressed", shown.has(name));
          state.set("v", [...shown].join(","));
          remember(state);
          filter.update();
        };
        return el("span", {}, el("button", { type: "button", "aria-pressed": shown.has(name), onclick: toggle }, (name || "not judged").toLowerCase()), number(counts.get(name).toLocaleString("en"), counted([name])));
      };
      const chips = !pair ? "" : el("span", { class: "chips", role: "group", "aria-label": "Verdicts shown" }, all.map(chip));
      return [
        ...head,
        el("p", { class: pair ? "finding" : "lead bare" }, number(said, command)),
        turned,
        since > 0 ? el("p", { class: "soft", "data-q": paste(`SELECT count(*) FROM run_details WHERE config IN (${[...sides].map(literal).join(", ")})`) }, `Judged ${since} ${since === 1 ? "run" : "runs"} ago, with the ${known.toLocaleString("en")} runs known then; the command below judges with all.`) : "",
        also.length ? el("details", { open: also.length < 5 }, el("summary", {}, "All cases together"), el("ul", {}, also.map((line) => el("li", {}, number(line, command))))) : "",
        el("p", { class: "again" }, copyable(command)),
        await drawnCharts(`${base}|${candidate}`),
        el("div", { class: "tools" }, chips, filter.nodes),
        alike(shared, rows.length),
        reasons.map((text) => el("p", { class: "soft", "data-q": command }, `${text.replace(/^all /, "All ")}.`)),
        found.node,
        pair ? glossary(rows, reasons) : "",
      ];
    },

    async runs(_, state) {
      const r = await runs();
      document.title = "Runs";
      if (!r.count) return [el("h1", {}, "Runs"), el("p", {}, "Nothing is recorded yet.")];
      const rows = Array.from({ length: r.count }, (_, i) => r.count - 1 - i);
      const found = table([
        { name: "began (UTC)", value: (i) => r.began_at[i] ?? "", cell: (i) => link(to("run", r.run_id[i]), r.began_at[i] ?? r.run_id[i].slice(0, 13)) },
        { name: "config", cell: (i) => r.config[i] },
        { name: "commit", cell: (i) => number(r.git_commit[i]?.slice(0, 12) ?? "", ofRun("git_commit", r.run_id[i])) },
        { name: "branch", cell: (i) => r.git_branch[i] ?? "" },
        { name: "status", cell: (i) => r.status[i] },
        { name: "cases", numeric: true, value: (i) => r.cases[i], cell: (i) => number(r.cases[i].toLocaleString("en"), ofRun("cases", r.run_id[i])) },
        { name: "failed", numeric: true, value: (i) => r.failed[i], cell: (i) => number(r.failed[i].toLocaleString("en"), ofRun("failed", r.run_id[i])) },
      ].filter((column) => column.name !== "branch" || r.git_branch.some(Boolean)), rows, { label: "Runs" });
      const filter = filterOf(found, r.count, {
        label: "filter runs",
        text: state.get("q"),
        keep: (i, wanted) => holds(r.texts[i], wanted),
        query: (wanted) => paste(`SELECT count(*) FROM run_details WHERE ${where(containing(RUN_TEXT, wanted))}`),
        onchange: (text) => { state.set("q", text); remember(state); },
      });
      return [el("div", { class: "tools" }, el("h1", {}, "Runs"), filter.nodes), found.node];
    },

    async cases(_, state) {
      const c = await cases();
      document.title = "Cases";
      if (!c.count) return [el("h1", {}, "Cases"), el("p", {}, "Nothing is recorded yet.")];
      const all = Array.from({ length: c.count }, (_, i) => i).sort(inOrder(c));
      const [apart, shared] = apartOf(c, all);
      const shownAxes = ["name", ...apart.filter((name) => name !== "name")];
      const found = table(axisColumns(c, shownAxes, (i) => i), all, { label: "Cases" });
      const filter = filterOf(found, c.count, {
        label: "filter cases",
        text: state.get("q"),
        keep: (i, wanted) => holds(c.texts[i], wanted),
        query: (wanted) => paste(`SELECT count(*) ${where(site.cases_from, containing(c.axes, wanted))}`),
        onchange: (text) => { state.set("q", text); remember(state); },
      });
      return [el("div", { class: "tools" }, el("h1", {}, "Cases"), filter.nodes), alike(shared, c.count), found.node];
    },
  };
  // The model alone where the backend is that of the case beside it.
  const named = (c, id, beside) => {
    const place = c.places.get(id);
    if (place === undefined) return id;
    return c.backend?.[place] === c.backend?.[beside] ? c.name[place] : caseName(c, place);
  };
  const order = (c, key) => {
    const [metric, phase] = JSON.parse(key);
    return c.labels.findIndex((label) => label[0] === metric && label[1] === phase);
  };
  const asChange = (row) => ({ kind: row[4], verdict: row[5] ?? "", since: row[6], until: row[7], before: row[8], after: row[9], text: row[10], note: row[11], incident: row[12] });
  const verdict = (text) => {
    const kind = /FASTER|BETTER|FIXED/.test(text) ? "better" : /SLOWER|WORSE|BROKEN|REMOVED/.test(text) ? "worse" : "other";
    return text ? el("span", { class: `verdict ${kind}` }, text.toLowerCase()) : "";
  };
  const missing = (text) => [el("h1", {}, "Not here"), el("p", {}, text), el("p", {}, link("#/", "What changed"))];
  // All values of a run: a row a case with its values by label, and how cases ended that failed.
  const valuesOf = async (r, c, run) => {
    const [block, place] = r.blocks[run];
    const tiles = await Promise.all(site.tiles.blocks[block].slice(1).filter(Boolean).map(tile));
    const found = new Map(),
      ended = new Map(),
      logs = new Map();
    for (const one of tiles) {
      one.series.forEach(([at, label], row) => {
        const value = one.median[row * one.runs + place];
        if (Number.isNaN(value)) return;
        const number = c.places.get(one.cases[at]);
        if (number === undefined) return;
        if (!found.has(number)) found.set(number, new Map());
        found.get(number).set(JSON.stringify(one.labels[label]), value);
      });
      for (const [at, own, text, log] of one.ended)
        if (own === place) {
          ended.set(c.places.get(one.cases[at]), text);
          if (log) logs.set(c.places.get(one.cases[at]), log);
        }
    }
    const values = [...found].sort(([a], [b]) => inOrder(c)(a, b)).map(([place, values]) => ({ place, values }));
    return { values, ended, logs };
  };
  const valueTable = (r, c, run, rows) => {
    const counts = new Map();
    for (const row of rows) for (const key of row.values.keys()) counts.set(key, (counts.get(key) ?? 0) + 1);
    const common = Math.max(...counts.values()) / 4; // a metric of few cases would be a column of holes
    const shown = new Set([...counts.keys()].filter((key) => counts.get(key) >= common));
    const ordered = (keys) => [...keys].sort((a, b) => order(c, a) - order(c, b));
    for (const row of rows) // none is empty
      if (![...row.values.keys()].some((key) => shown.has(key))) shown.add(ordered(row.values.keys())[0]);
    const keys = ordered(shown).slice(0, 12);
    const [shownAxes, shared] = apartOf(c, rows.map((row) => row.place));
    const found = table([
      ...axisColumns(c, shownAxes, (row) => row.place),
      ...keys.map((key) => {
        const [metric, phase, unit] = JSON.parse(key);
        return { name: metricName(metric, phase).replaceAll("_", " "), numeric: true, value: (row) => row.values.get(key), cell: (row) => row.values.has(key) ? number(unit === "ratio" ? times(row.values.get(key)) : amount(row.values.get(key), unit), valueQuery(c, r.run_id[run], c.case_id[row.place], metric, phase)) : "" };
      }),
    ], rows, { label: "Values" });
    return { ...found, shared, further: keys.length < counts.size };
  };
  const judgedRows = async (c, pair) => {
    const found = await json(pair);
    const [ids = [], ...others] = found.columns;
    const rows = ids.map((id, at) => {
      const [metric, base, candidate, difference, change, told, why, label, texts, size] = others.map((column) => column[at]);
      const place = c.places.get(id);
      return { id, metric, label: found.labels[label], base, candidate, difference, change: change ?? "", verdict: told ?? "", why: found.whys[why], size, place,
        texts: texts.map((text) => [c.texts[place], told, found.texts[text]].filter(Boolean).join(" ").toLowerCase()) };
    });
    return { rows, said: found.said, also: found.also, reasons: found.shared, known: found.known };
  };
  // Two runs that nothing was judged of: their values side by side.
  const bareRows = async (r, c, base, candidate) => {
    const [one, two] = await Promise.all([base, candidate].map((run) => valuesOf(r, c, run)));
    const others = new Map(two.values.map((row) => [row.place, row.values])),
      firsts = new Map(one.values.map((row) => [row.place, row.values]));
    const rows = [];
    for (const place of [...new Set([...firsts.keys(), ...others.keys()])].sort((a, b) => a - b)) {
      const [a, b] = [firsts.get(place) ?? new Map(), others.get(place) ?? new Map()];
      for (const key of [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => order(c, x) - order(c, y))) {
        const [metric, phase, unit] = JSON.parse(key),
          before = a.get(key) ?? null,
          after = b.get(key) ?? null,
          better = c.labels[order(c, key)]?.[3];
        const ratio = before > 0 && after > 0 ? (better === "lower" ? before / after : after / before) : null;
        const difference = before === null || after === null ? null : after - before;
        rows.push({ id: c.case_id[place], metric: metricName(metric, phase), label: [metric, phase], base: amount(before, unit), candidate: amount(after, unit),
          difference: difference === null ? "" : `${difference < 0 ? "−" : difference > 0 ? "+" : ""}${amount(Math.abs(difference), unit)}`,
          change: ratio === null ? "" : changeOf(ratio, unit, better), verdict: "", why: "", size: ratio === null ? null : Math.abs(Math.log(ratio)), place,
          texts: [`${c.texts[place]} ${metric} ${phase ?? ""}`.toLowerCase()] });
      }
    }
    rows.sort((a, b) => (b.size ?? -1) - (a.size ?? -1));
    return { rows, also: [], reasons: [], said: "Values side by side. These two runs were not judged when the site was published, so no change here is told from chance; the command below judges them." };
  };

  // ---- which page is shown
  let turn = 0;
  const show = async () => {
    const mine = ++turn,
      hash = location.hash,
      incident = /^#incident-\w+$/.test(hash);
    const { parts, state } = read();
    const page = incident ? undefined : pages[parts[0]];
    const [front, view] = [$("front"), $("view")];
    const focused = view.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    let after;
    if (page) {
      let content;
      try {
        content = await page(parts.slice(1), state);
      } catch (error) {
        content = [el("h1", {}, "This page cannot be shown"), el("p", {}, String(error.message))];
      }
      if (mine !== turn) return;
      if (typeof content.at(-1) === "function") after = content.pop();
      view.replaceChildren(...content.flat(2).filter((node) => node !== ""));
    } else document.title = title;
    front.hidden = Boolean(page);
    view.hidden = !page;
    after?.();
    for (const one of document.querySelectorAll("nav a"))
      one.getAttribute("href") === (page ? `${site.home}#/${parts[0]}` : site.front) ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current");
    if (incident) {
      const target = $(hash.slice(1));
      target?.closest("details")?.setAttribute("open", "");
      target?.scrollIntoView();
    }
    else if (hash.split("?")[0] !== shown.split("?")[0]) {
      scrollTo(0, 0);
      $("main").focus({ preventScroll: true }); // what had the focus may be gone
    } else if (focused) [...view.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === focused)?.focus();
    shown = location.hash;
    document.documentElement.dataset.drawn = shown;
  };
  const title = document.title;
  let shown = location.hash;

  // ---- what stays: search, queries of numbers, keys
  suggest($("search"), $("found"), search, ({ to }) => {
    $("search").value = "";
    location.href = site.home + to;
  });
  const hint = (text) => {
    $("hint").textContent = text;
    clearTimeout(hint.timer);
    hint.timer = setTimeout(() => ($("hint").textContent = ""), 1500 + 60 * text.length); // time to read it
  };
  const copy = async (text) => {
    document.documentElement.dataset.copied = text;
    try {
      await navigator.clipboard.writeText(text);
      hint("copied");
    } catch {
      const field = el("textarea", { class: "off", readonly: true }, text);
      document.body.append(field);
      field.select();
      hint(document.execCommand("copy") ? "copied" : "copying is not allowed here");
      field.remove();
    }
  };
  let asked = null;
  const explain = (node) => {
    const box = $("query");
    asked = node.matches("button") ? node : document.activeElement;
    box.replaceChildren(copyable(node.dataset.q), el("button", { type: "button", class: "close", onclick: closeQuery, "aria-label": "Close" }, "×"));
    box.hidden = false;
    box.firstChild.focus();
  };
  const closeQuery = () => {
    $("query").hidden = true;
    asked?.focus();
    asked = null;
  };
  document.addEventListener("click", (event) => {
    if (event.target.matches?.(".skip")) {
      event.preventDefault(); // its address is not that of a page
      return $("main").focus();
    }
    const button = event.target.closest?.("button"),
      asked = event.target.closest?.("a, button:not([data-q], .title), summary, [data-q]"); // of these the innermost
    if (asked?.matches("[data-q]:not(.chart svg)") && getSelection().isCollapsed) explain(asked);
    else if (button?.dataset.copy) copy(button.dataset.copy);
    else if (button?.dataset.order) {
      const list = document.querySelector(".incidents"),
        by = button.dataset.order;
      list.append(...[...list.children].sort((a, b) => a.dataset[by] - b.dataset[by]));
      for (const other of button.parentNode.children) other.setAttribute("aria-pressed", other === button);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("query").hidden) return closeQuery();
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
    const go = { h: "#/", c: "#/compare", r: "#/runs", a: "#/cases" }[event.key];
    if (event.key === "/") {
      event.preventDefault();
      $("search").focus();
    } else if (event.key === "q" && event.target.closest("[data-q]")) explain(event.target.closest("[data-q]"));
    else if (event.key === "j" || event.key === "k") {
      const all = [...document.querySelectorAll(".incident .title")],
        at = all.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
      if (!$("front").hidden) all[Math.max(0, Math.min(all.length - 1, at))]?.focus();
    } else if (event.key === "?") hint("/ search · j k next and previous change · q query of a number · h what changed · c compare · r runs · a cases");
    else if (go) location.href = site.home + go;
  });
  addEventListener("hashchange", show);
  show();
  globalThis.bench.parts = { site, $, el, load, tile, runs, cases, json, table, copyable, paste, read, remember };
})();
