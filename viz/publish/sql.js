// SQL over what the site holds. DuckDB-WASM runs in a worker and is told what to do by the messages of its own API: see
// packages/duckdb-wasm/src/parallel/worker_request.ts of its source. Tables go in and answers come out as CSV, which is part of
// DuckDB itself: what needs an extension would have to be fetched from elsewhere, and the page's policy allows no such request.
"use strict";
(() => {
  const { site, $, el, load, tile, runs, cases, json, table, copyable, paste, read, remember } = globalThis.bench.parts;
  const MOST = 10000; // rows of an answer that are shown
  const TYPES = {
    BIGINT: "cases failed steps rejected batch_size sequence_length n run case label",
    DOUBLE: "median median_low median_high before after",
    BOOLEAN: "git_dirty lasts",
    TIMESTAMP: "began_at",
  };
  const typeOf = (name) => Object.keys(TYPES).find((type) => TYPES[type].split(" ").includes(name)) ?? "VARCHAR";
  const number = (value) => (value === undefined || Number.isNaN(value) ? "" : String(value));
  const field = (value) =>
    value === null || value === undefined ? "" : typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : String(value);

  // ---- the engine
  // What its worker does first: it takes the module from the page, for it may fetch nothing, and tells what goes wrong meanwhile.
  const FIRST = `
    addEventListener("unhandledrejection", ({ reason }) => { throw reason; });
    addEventListener("message", (event) => {
      if (!event.data.module) return;
      event.stopImmediatePropagation();
      self.fetch = async () => new Response(event.data.module, { headers: { "Content-Type": "application/wasm" } });
    });
  `;
  const start = async () => {
    const [code, module] = await Promise.all([load(site.engine.worker), load(site.engine.module)]);
    const worker = new Worker(URL.createObjectURL(new Blob([FIRST, code], { type: "text/javascript" }))),
      waiting = new Map();
    let sent = 0;
    worker.onmessage = ({ data }) => {
      const one = waiting.get(data.requestId);
      if (!one || data.type === "INSTANTIATE_PROGRESS") return;
      waiting.delete(data.requestId);
      if (data.type === "ERROR") one.reject(new Error(data.data.message));
      else one.resolve(data.data);
    };
    const fail = (reason) => waiting.forEach((one) => one.reject(new Error(reason)));
    worker.onerror = (event) => fail(`DuckDB stopped: ${event.message ?? "its worker could not be started"}`);
    const call = (type, data, moved = []) =>
      new Promise((resolve, reject) => {
        waiting.set(++sent, { resolve, reject });
        worker.postMessage({ messageId: sent, type, data }, moved);
      });
    worker.postMessage({ module }, [module]);
    await call("INSTANTIATE", ["data:,", null]);
    await call("OPEN", {});
    const connection = await call("CONNECT", null);
    const run = (sql) => call("RUN_QUERY", [connection, sql]);
    const create = async (name, columns, text) => {
      const bytes = new TextEncoder().encode(text),
        types = columns.map((column) => `"${column}": '${typeOf(column)}'`);
      await call("REGISTER_FILE_BUFFER", ["rows.csv", bytes], [bytes.buffer]);
      await run(
        `CREATE TABLE ${name} AS FROM read_csv('rows.csv', header = false, auto_detect = false, delim = ',', quote = '"',` +
          ` escape = '"', new_line = '\\n', allow_quoted_nulls = false, columns = {${types}})`,
      );
      await call("DROP_FILE", "rows.csv");
    };
    const written = async (sql) => {
      await run(`COPY (${sql}) TO 'answer.csv' (FORMAT csv, HEADER false, FORCE_QUOTE *)`);
      const bytes = await call("COPY_FILE_TO_BUFFER", "answer.csv");
      await call("DROP_FILE", "answer.csv");
      return parsed(new TextDecoder().decode(bytes));
    };
    const stop = () => {
      fail("stopped");
      worker.terminate();
    };
    await run("SET autoinstall_known_extensions = false");
    await run("SET autoload_known_extensions = false");
    return { run, create, written, stop };
  };
  // The fields of CSV whose values are all quoted; what is not is NULL.
  const parsed = (text) => {
    const rows = [];
    let row = [];
    for (const [, quoted, value, end] of text.matchAll(/(?:("(?:[^"]|"")*")|([^",\n]*))(,|\n|$)/g)) {
      if (end === "" && row.length === 0 && quoted === undefined) break;
      row.push(quoted === undefined ? (value === "" ? null : value) : quoted.slice(1, -1).replaceAll('""', '"'));
      if (end === ",") continue;
      rows.push(row);
      row = [];
      if (end === "") break;
    }
    return rows;
  };

  // ---- the tables
  const T = site.tables,
    VALUE = ["run", "case", "label", "median", "median_low", "median_high", "n"];
  const fill = async (engine) => {
    const [r, c, changes] = await Promise.all([runs(), cases(), json(site.changes)]);
    const lines = (count, columns, of) => {
      const found = [];
      for (let i = 0; i < count; i++) found.push(`${columns.map((column) => field(of[column]?.[i])).join(",")}\n`);
      return found.join("");
    };
    await engine.create("run_details", T.run_details, lines(r.count, T.run_details, r));
    await engine.create("case_axes", T.case_axes, lines(c.count, T.case_axes, c));
    const told = changes.map(([id, config, metric, phase, kind, verdict, since, until, before, after, , , incident, lasts]) =>
      [id, config, metric, phase, kind, verdict, r.run_id[since], r.run_id[until], before, after, incident, lasts].map(field).join(","));
    await engine.create("change_points", T.change_points, told.map((line) => `${line}\n`).join(""));
    await engine.create("_labels", ["label", "metric", "phase", "unit", "better"], c.labels.map((label, i) => `${[i, ...label].map(field).join(",")}\n`).join(""));
    await engine.create("_numbers", VALUE, "");
    await engine.create("failures", T.failures, "");
    const labels = new Map(c.labels.map(([metric, phase, unit], i) => [JSON.stringify([metric, phase, unit]), i]));
    let first = 0;
    for (const [count, ...names] of site.tiles.blocks) {
      const values = [],
        ended = [];
      for (const one of await Promise.all(names.filter(Boolean).map(tile))) {
        one.series.forEach(([at, label], row) => {
          const start = `${c.places.get(one.cases[at])},${labels.get(JSON.stringify(one.labels[label]))}`;
          for (let k = 0; k < one.runs; k++) {
            const place = row * one.runs + k;
            if (Number.isNaN(one.median[place])) continue;
            values.push(`${first + k},${start},${one.median[place]},${number(one.median_low?.[place])},${number(one.median_high?.[place])},${one.n?.[place] ?? 1}\n`);
          }
        });
        for (const [at, run, text] of one.ended) ended.push(`${[r.run_id[first + run], one.cases[at], text].map(field).join(",")}\n`);
      }
      first += count;
      await engine.create("block", VALUE, values.join(""));
      await engine.run("INSERT INTO _numbers FROM block");
      await engine.run("DROP TABLE block");
      await engine.create("block", T.failures, ended.join(""));
      await engine.run("INSERT INTO failures FROM block");
      await engine.run("DROP TABLE block");
    }
    const of = { run_id: "r.run_id", config: "r.config", n: "v.n", ...Object.fromEntries(T.case_axes.map((axis) => [axis, `c.${axis}`])) };
    await engine.run(
      `CREATE VIEW cells AS SELECT ${T.cells.map((column) => of[column] ?? column).join(", ")} FROM _numbers AS v` +
        ' JOIN run_details AS r ON v.run = r.rowid JOIN case_axes AS c ON v."case" = c.rowid JOIN _labels USING (label)',
    );
  };
  let ready = null;
  const engine = () =>
    (ready ??= start().then(async (made) => {
      await fill(made);
      return made;
    }));

  // ---- asking
  const ask = async (query) => {
    const made = await engine();
    try {
      await made.run(`CREATE OR REPLACE TEMP TABLE answer AS FROM (${query.replace(/;\s*$/, "")}\n)`);
    } catch (error) {
      if (!/^Parser Error/.test(error.message)) throw error;
      await made.run(query); // no query in brackets, such as SET; or wrong, and then told of the text as it was typed
      return null;
    }
    const columns = await made.written("SELECT name, type FROM pragma_table_info('answer')");
    const [[count]] = await made.written("SELECT count(*) FROM answer");
    return { columns, count: Number(count), rows: await made.written(`SELECT COLUMNS(*)::VARCHAR FROM answer LIMIT ${MOST}`) };
  };
  const shown = ({ columns, count, rows }) => {
    const isNumber = columns.map(([, type]) => /INT|DOUBLE|FLOAT|DECIMAL/.test(type));
    const found = table(
      columns.map(([name], i) => ({
        name,
        numeric: isNumber[i],
        cell: (row) => row[i] ?? "",
        value: (row) => (row[i] !== null && isNumber[i] ? Number(row[i]) : row[i]),
      })),
      rows,
      { label: "Answer" },
    );
    found.update();
    const more = count > rows.length ? `, of which the first ${rows.length.toLocaleString("en")} are here` : "";
    return { said: `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}${more}`, node: found.node };
  };
  const text = $("sql"),
    told = $("told"),
    answer = $("answer"),
    stop = $("stop");
  const submit = async () => {
    const query = text.value.trim();
    if (!query || !stop.hidden) return;
    const { state } = read();
    state.set("q", query);
    remember(state);
    stop.hidden = false;
    told.textContent = ready ? "asking …" : "reading DuckDB and the data …";
    let said = "done",
      nodes = [];
    try {
      const found = await ask(query);
      if (found) {
        const { said: count, node } = shown(found);
        said = count;
        nodes = [node, el("p", { class: "again" }, copyable(paste(query)))];
      }
    } catch (error) {
      said = "";
      const [reason] = error.message.split("\n\nPlease try"); // to install an extension, which this page cannot
      nodes = [el("pre", { class: "error", role: "alert" }, reason)];
    }
    answer.replaceChildren(...nodes);
    told.textContent = said;
    stop.hidden = true;
    document.documentElement.dataset.answered = query;
  };
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  stop.addEventListener("click", () => {
    ready?.then((made) => made.stop(), () => {});
    ready = null;
  });
  const { state } = read();
  if (state.get("q")) text.value = state.get("q");
})();
