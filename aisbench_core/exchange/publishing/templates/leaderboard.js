// Shows the tables of a published leaderboard, a page of rows at a time. It computes nothing but the order of the rows
// that are shown: numbers, ranks and intervals are those that the console published.
"use strict";

const aisbench = { pages: new Map(), addPage(table, number, heads, rows) {
  aisbench.pages.set(`${table}-${number}`, { heads, rows });
} };

(() => {
  const site = JSON.parse(document.getElementById("site").textContent);
  const words = site.words, KEPT = 8;
  const find = id => document.getElementById(id);
  const small = new Intl.NumberFormat(site.language, { maximumSignificantDigits: 4 });
  const large = new Intl.NumberFormat(site.language, { maximumFractionDigits: 1 });
  // Before the cells of a row of the leaderboard: its benchmark, its first run, and how many it has.
  const LEADING = { rows: 3, runs: 0 };
  let state, asked = 0;

  function fill(text, values) {
    return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  function format(number) {
    return (Math.abs(number) < 1000 ? small : large).format(number);
  }

  function make(tag, text = "", more = {}) {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(more)) element.setAttribute(name, value);
    return element;
  }

  function load(table, number) {
    const key = `${table}-${number}`, file = `data/${key}.js`;
    if (aisbench.pages.has(key)) return Promise.resolve(aisbench.pages.get(key));
    return new Promise((resolve, reject) => {
      const script = make("script", "", { src: file });
      const refuse = () => reject(new Error(fill(words.unreadable, { file })));
      script.onload = () => {
        script.remove();
        const page = aisbench.pages.get(key);
        if (aisbench.pages.size > KEPT) aisbench.pages.delete(aisbench.pages.keys().next().value);
        page ? resolve(page) : refuse();
      };
      script.onerror = refuse;
      document.head.append(script);
    });
  }

  // The rows from `start` to `end`, each with the heading above it.
  async function read(table, start, end) {
    const found = [];
    for (let number = Math.floor(start / site.pageRows); number * site.pageRows < end; number++) {
      const page = await load(table, number), before = number * site.pageRows;
      const part = page.rows.slice(Math.max(0, start - before), end - before);
      found.push(...part.map(row => ({ row, head: page.heads[row[0]] })));
    }
    return found;
  }

  function show(cell, column) {
    if (Array.isArray(cell)) return cell[site.language === "zh" ? 1 : 0];
    if (cell === null || cell === undefined) return "";
    if (typeof cell === "boolean") return cell ? words.yes : words.no;
    if (typeof cell === "number") return format(cell);
    return column.kind === "time" ? cell.replace("T", " ").replace(/(\.\d+)?Z$/, "") : cell;
  }

  function listColumns() {
    return site.tables[state.table].columns.map((column, index) => ({ ...column, at: index + LEADING[state.table] }));
  }

  async function search(text) {
    const { table, start, end } = state, columns = listColumns(), found = [], wanted = text.toLowerCase(), mine = ++asked;
    for (let at = start; at < end && found.length <= site.pageRows; at += site.pageRows) {
      const part = await read(table, at, Math.min(end, at + site.pageRows));
      if (mine !== asked) return null;
      found.push(...part.filter(({ row, head }) =>
        [...(head || []), ...columns.map(column => show(row[column.at], column))].join("\n").toLowerCase().includes(wanted)));
    }
    return found;
  }

  function compare(left, right, column, ascending) {
    const [one, other] = [left, right].map(({ row }) => row[column.at]);
    const isEmpty = cell => cell === null || cell === "" || cell === undefined;
    if (isEmpty(one) || isEmpty(other)) return isEmpty(one) - isEmpty(other);
    const order = typeof one === "number" || typeof one === "boolean" ? one - other
      : show(one, column).localeCompare(show(other, column), site.language, { numeric: true });
    return ascending ? order : -order;
  }

  function sort(rows) {
    const column = state.sort && listColumns().find(each => each.name === state.sort.name);
    if (!column) return rows;
    const inOrder = (left, right) => compare(left, right, column, state.sort.ascending);
    // Numbers of two benchmarks have no order: each keeps its place, and its rows are sorted.
    if (state.table === "rows") return rows.toSorted((left, right) => left.row[0] - right.row[0] || inOrder(left, right));
    return rows.toSorted(inOrder);
  }

  function makeHead(columns) {
    const row = make("tr", "", { role: "row" });
    for (const column of columns) {
      const direction = state.sort?.name === column.name ? (state.sort.ascending ? "ascending" : "descending") : "none";
      const cell = make("th", "", { scope: "col", role: "columnheader", "aria-sort": direction, class: column.kind === "integer" ? "number" : column.kind });
      const button = make("button", column.label, { type: "button" });
      if (column.unit) button.append(" ", make("span", `(${column.unit})`, { class: "unit" }));
      button.onclick = () => {
        state.sort = { name: column.name, ascending: direction === "descending" };
        draw().then(() => [...find("scroll").querySelectorAll("thead button")][columns.indexOf(column)].focus());
      };
      cell.append(button);
      row.append(cell);
    }
    const head = make("thead", "", { role: "rowgroup" });
    head.append(row);
    return head;
  }

  function makeCell(row, column) {
    const text = show(row[column.at], column), isNumber = typeof row[column.at] === "number";
    const kind = /^[0-9a-f]{64}$/.test(text) ? "hash" : isNumber ? "number" : text.length <= 30 ? "short" : column.kind;
    const cell = make("td", "", { role: "cell", class: kind, "data-label": column.unit ? `${column.label} (${column.unit})` : column.label });
    if (state.table === "rows" && column.name === "runs") {
      const link = make("a", text, { href: `#runs-${row[1]}-${row[2]}` });
      link.onclick = () => { state.name = nameRow(row); };
      cell.append(link);
    } else if (column.name === "bundle" && text) {
      cell.append(make("a", `${text}.zip`, { href: `bundles/${encodeURIComponent(text)}.zip` }));
    } else {
      cell.textContent = text;
    }
    return cell;
  }

  function nameRow(row) {
    const named = listColumns().filter(column => ["version", "hardware", "size"].includes(column.name));
    return named.map(column => show(row[column.at], column)).join(", ");
  }

  function makeTable(rows) {
    const columns = listColumns().filter(column => rows.some(({ row }) => show(row[column.at], column) !== ""));
    const table = make("table", "", { role: "table", "aria-labelledby": "heading" });
    table.append(makeHead(columns));
    let body, above;
    for (const { row, head } of rows) {
      if (!body || (head && row[0] !== above)) {
        body = make("tbody", "", { role: "rowgroup" });
        table.append(body);
        above = row[0];
        if (head) {
          const heading = make("tr", "", { role: "row" });
          heading.append(make("th", head.filter(Boolean).join(" · "), { scope: "rowgroup", role: "rowheader", colspan: columns.length }));
          body.append(heading);
        }
      }
      const line = make("tr", "", { role: "row" });
      line.append(...columns.map(column => makeCell(row, column)));
      body.append(line);
    }
    return table;
  }

  function say(rows, isFound, first) {
    if (!isFound) return fill(words.shown, { first: rows.length ? first + 1 : 0, last: first + rows.length, total: format(state.end - state.start) });
    if (!rows.length) return words.none_found;
    return fill(rows.length > site.pageRows ? words.found_more : words.found, { count: Math.min(rows.length, site.pageRows) });
  }

  async function draw() {
    const text = find("text").value.trim(), { table, start, end, page } = state, drawn = state;
    try {
      const first = page * site.pageRows;
      const rows = text ? await search(text) : await read(table, start + first, Math.min(end, start + first + site.pageRows));
      if (!rows || drawn !== state || text !== find("text").value.trim()) return;
      const pages = Math.max(1, Math.ceil((end - start) / site.pageRows));
      find("status").textContent = say(rows, Boolean(text), first);
      find("scroll").replaceChildren(...(rows.length ? [makeTable(sort(rows.slice(0, site.pageRows)))] : []));
      find("pages").hidden = Boolean(text) || pages === 1;
      find("page").textContent = fill(words.page, { page: page + 1, pages: format(pages) });
      find("previous").disabled = page === 0;
      find("next").disabled = page + 1 === pages;
    } catch (error) {
      find("status").textContent = error.message;
    }
  }

  // `#rows`, `#runs`, or `#runs-FIRST-COUNT` of a row.
  function open() {
    const [, table, first, count] = /^#(rows|runs)(?:-(\d+)-(\d+))?$/.exec(location.hash) || [null, "rows"];
    const name = state?.name, total = site.tables[table].total;
    const start = Math.min(Number(first || 0), total), end = first ? Math.min(total, start + Number(count)) : total;
    state = { table, start, end, page: 0, sort: null, name: "" };
    const ofRow = first ? (name ? fill(words.runs_of_row, { name }) : words.runs) : words.all_runs;
    find("heading").textContent = table === "rows" ? words.board : ofRow;
    find("text").value = "";
    return draw();
  }

  function turn(by) {
    state = { ...state, page: state.page + by };
    draw().then(() => find("table").focus());
  }

  addEventListener("hashchange", () => { if (location.hash !== "#table") open().then(() => find("table").focus()); });
  find("find").onsubmit = event => { event.preventDefault(); draw(); };
  find("text").oninput = () => { state = { ...state, page: 0 }; draw(); };
  find("previous").onclick = () => turn(-1);
  find("next").onclick = () => turn(1);
  open();
})();
