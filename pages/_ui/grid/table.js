// The table of pages/_ui/grid: draws what table.py sends, and says what is ticked, opened and sorted by.
// Texts of the data reach the page as text nodes and attributes only. It stands in the head of each page as a module,
// so that only `drawGrid` is global: as the component's own script, each table would bring it anew in each rerun.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 96, HEIGHT = 20, INSET = 3; // of a curve
const SIGNIFICANT = 5; // digits of a measured number
const NUMBER = /^([^\d]*\d[\d,]*)(\.\d+)?(\s*%?)$/; // whole part, decimals, and per cent

const grids = new WeakMap(); // by the element in which Streamlit shows them

globalThis.drawGrid = ({ data, parentElement, setStateValue, setTriggerValue }) => {
  let grid = grids.get(parentElement);
  if (!grid) grids.set(parentElement, (grid = new Grid(parentElement)));
  grid.say = setStateValue;
  grid.call = setTriggerValue;
  grid.draw(data);
  return () => {
    grid.leave();
    grids.delete(parentElement);
  };
};

const make = (tag, className = "", text = "") => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
};

const draw = (tag, attributes) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const hasModifier = event => event.ctrlKey || event.metaKey || event.altKey;

class Grid {
  constructor(parent) {
    this.ticked = new Set();
    this.at = 0; // when something was ticked last: what was cleared later is cleared
    this.current = this.anchor = null; // ids of rows
    this.lines = new Map(); // what was drawn of each row, by its id
    this.box = make("div", "grid-box");
    this.table = make("table", "grid");
    this.caption = make("caption", "grid-unseen");
    this.head = make("thead");
    this.body = make("tbody");
    this.table.append(this.caption, this.head, this.body);
    this.box.append(this.table);
    parent.append(this.box);
    this.left = new AbortController();
    const listen = (target, type, handle) =>
      target.addEventListener(type, event => handle.call(this, event), { signal: this.left.signal });
    listen(this.head, "click", this.onHead);
    listen(this.body, "click", this.onClick);
    listen(this.body, "keydown", this.onKey);
    listen(this.body, "focusin", this.onFocus);
    listen(document, "keydown", this.onEscape);
    this.sizes = new ResizeObserver(() => this.fit());
    const main = document.querySelector('[data-testid="stMain"]');
    for (const element of [this.box, main]) if (element) this.sizes.observe(element);
  }

  leave() {
    this.left.abort();
    this.sizes.disconnect();
    this.box.remove();
  }

  // The room of the page, which the bar at the bottom of the window fills, and whether the columns fit into it.
  fit() {
    const main = document.querySelector('[data-testid="stMain"]');
    if (main) {
      const { left, width } = main.getBoundingClientRect();
      document.documentElement.style.setProperty("--page-left", `${left}px`);
      document.documentElement.style.setProperty("--page-width", `${width}px`);
    }
    const isWide = this.table.offsetWidth > this.box.clientWidth + 1;
    this.box.classList.toggle("grid-wide", isWide);
    const isScrolled = isWide || this.data.scrolls;
    if (isScrolled && !this.body.querySelector("[tabindex]")) this.box.tabIndex = 0;
  }

  draw(data) {
    const isFirst = !this.data;
    this.data = data;
    if (isFirst) this.ticked = new Set(data.ticked);
    if (data.cleared >= this.at && !isFirst) this.ticked.clear();
    const focus = this.focused();
    this.caption.textContent = data.name;
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", data.name);
    this.box.classList.toggle("grid-scrolls", data.scrolls);
    this.box.classList.toggle("grid-headless", data.headless);
    this.rows = new Map(data.rows.map(row => [row.id, row]));
    if (!this.rows.has(this.current)) this.current = data.rows.length ? data.rows[0].id : null;
    this.paddings = new Map(data.columns.map(column => [column.key, measure(column, data.rows)]));
    this.drawChanged();
    this.showTicks();
    this.showCurrent();
    this.fit();
    if (focus) this.focus(focus);
  }

  // Only what differs from before: an element that is replaced between the two halves of a click would lose it.
  drawChanged() {
    const { columns, rows, sorted, tickable, words } = this.data;
    const frame = JSON.stringify([columns, tickable, words, ...this.paddings]);
    const head = frame + JSON.stringify(sorted);
    if (head !== this.drawnHead) this.head.replaceChildren(this.drawHead());
    this.drawnHead = head;
    const lines = new Map();
    for (const row of rows) {
      const content = frame + JSON.stringify(row), before = this.lines.get(row.id);
      lines.set(row.id, before?.content === content ? before : { content, line: this.drawRow(row) });
    }
    this.lines = lines;
    const next = [...lines.values()].map(({ line }) => line);
    const isSame = next.length === this.body.rows.length && next.every((line, index) => line === this.body.rows[index]);
    if (!isSame) this.body.replaceChildren(...next);
  }

  drawHead() {
    const { columns, sorted, tickable, words } = this.data;
    const line = make("tr");
    if (tickable) {
      const head = make("th", "grid-tick");
      head.scope = "col";
      const box = make("input");
      box.type = "checkbox";
      box.setAttribute("aria-label", words.all);
      head.append(box);
      line.append(head);
    }
    columns.forEach((column, index) => {
      const head = make("th", classOf(column, index));
      head.scope = "col";
      head.dataset.column = column.key;
      if (column.room) head.style.width = `${column.room + 16}px`;
      if (column.hint) head.title = column.hint;
      const isSorted = column.sort && sorted && sorted.by === column.sort;
      if (column.sort && sorted) {
        const button = make("button", "", column.label);
        button.type = "button";
        button.dataset.sort = column.sort;
        head.append(button);
      } else head.textContent = column.label;
      if (column.below) head.append(make("div", "grid-below", column.below));
      if (isSorted) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      line.append(head);
    });
    return line;
  }

  drawRow(row) {
    const line = make("tr");
    line.dataset.row = row.id;
    if (row.href) line.classList.add("grid-opens");
    if (this.data.tickable) {
      const cell = make("td", "grid-tick");
      const box = make("input");
      box.type = "checkbox";
      box.setAttribute("aria-label", this.data.words.tick.replace("{name}", () => row.name));
      cell.append(box);
      line.append(cell);
    }
    this.data.columns.forEach((column, index) => {
      const cell = make(index ? "td" : "th", classOf(column, index));
      if (!index) cell.scope = "row";
      cell.dataset.column = column.key;
      const value = row.cells[column.key];
      if (value) this.drawCell(cell, column, value, value.href || (index ? "" : row.href));
      line.append(cell);
    });
    return line;
  }

  drawCell(cell, column, value, href) {
    const content = make("div", "grid-cell");
    if (column.width) content.style.maxWidth = `${column.width}px`;
    if (value.title || column.width || column.fills) content.title = value.title || whole(value);
    if (value.dot) content.append(sign("grid-dot", value.dot.tone, "", value.dot.name));
    if (value.text) content.append(this.drawText(column, value, href));
    for (const part of value.parts || []) content.append(" ", drawPart(part));
    if (value.spark) content.append(drawSpark(value.spark));
    cell.append(content);
  }

  drawText(column, value, href) {
    const text = make(href ? "a" : "span", value.tone ? `grid-${value.tone}` : "");
    if (value.strong) text.classList.add("grid-strong");
    if (href) text.href = href;
    text.append(value.text);
    if (column.align !== "right") return text;
    const { decimals, unit } = this.paddings.get(column.key);
    const found = NUMBER.exec(value.text);
    const own = found ? found[2] || "" : "";
    if (found && decimals > own.length) {
      const padding = make("span", "grid-padding");
      const tail = (own ? "" : ".").padEnd(decimals - own.length, "0");
      // Zeros that the number was rounded to are shown; more would claim digits that nobody measured.
      const room = SIGNIFICANT - (found[1] + own).replace(/\D/g, "").length;
      const zeros = room > 0 ? tail.slice(0, own ? room : room + 1) : "";
      padding.dataset.digits = tail.slice(zeros.length);
      text.replaceChildren(found[1] + own + zeros, padding, found[3]);
    }
    if (unit || value.unit) {
      const label = make("span", "grid-unit", value.unit ? ` ${value.unit}` : "");
      if (unit) label.style.minWidth = `${unit + 0.5}ch`;
      const both = make("span");
      both.append(text, label);
      return both;
    }
    return text;
  }

  // Ticks

  showTicks() {
    let count = 0;
    for (const line of this.body.rows) {
      const isTicked = this.ticked.has(line.dataset.row);
      count += isTicked;
      line.classList.toggle("grid-ticked", isTicked);
      const box = line.querySelector(".grid-tick input");
      if (box) box.checked = isTicked;
    }
    const all = this.head.querySelector(".grid-tick input");
    if (!all) return;
    all.checked = count > 0 && count === this.rows.size;
    all.indeterminate = count > 0 && count < this.rows.size;
  }

  tick(id, isTicked, isRange) {
    const ids = [...this.rows.keys()];
    const [from, to] = [ids.indexOf(this.anchor), ids.indexOf(id)];
    const range = isRange && from >= 0 ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
    for (const each of range) isTicked ? this.ticked.add(each) : this.ticked.delete(each);
    this.anchor = id;
    this.tellTicks();
  }

  tellTicks() {
    this.ticked = new Set([...this.ticked].filter(id => this.rows.has(id)));
    this.showTicks();
    this.at = Math.max(Date.now(), this.at + 1);
    this.say("ticked", { ids: [...this.ticked], at: this.at });
  }

  clear() {
    this.ticked.clear();
    this.tellTicks();
  }

  // What a person does

  onHead(event) {
    const button = event.target.closest("button");
    if (button) return this.call("sorted", button.dataset.sort);
    const box = event.target.closest("input");
    if (!box) return;
    this.ticked = new Set(box.checked ? this.rows.keys() : []);
    this.tellTicks();
  }

  onClick(event) {
    const id = event.target.closest("tr").dataset.row;
    const link = event.target.closest("a");
    if (event.target.closest(".grid-tick")) {
      const isBox = event.target.matches("input");
      return this.tick(id, isBox ? event.target.checked : !this.ticked.has(id), event.shiftKey);
    }
    if (hasModifier(event) || event.shiftKey) return;
    if (link) event.preventDefault();
    else if (!getSelection().isCollapsed) return;
    this.open(link ? link.getAttribute("href") : this.rows.get(id).href);
  }

  onKey(event) {
    const line = event.target.closest("tr");
    const id = line.dataset.row;
    const { tickable } = this.data;
    if (hasModifier(event)) return;
    const moves = {
      ArrowDown: line.nextElementSibling,
      ArrowUp: line.previousElementSibling,
      Home: this.body.firstElementChild,
      End: this.body.lastElementChild,
    };
    if (event.key in moves) {
      event.preventDefault();
      const next = moves[event.key];
      if (!next) return;
      if (event.shiftKey && tickable) {
        if (this.anchor === null) this.anchor = id;
        this.ticked.add(id);
        this.tick(next.dataset.row, true, false);
      }
      next.focus();
    } else if (event.key === " " && !(tickable && event.target.matches("input"))) {
      event.preventDefault();
      if (event.repeat) return;
      if (tickable) this.tick(id, !this.ticked.has(id), event.shiftKey);
      else this.open(this.rows.get(id).href);
    } else if (event.key === "Enter" && !event.target.closest("a")) {
      event.preventDefault();
      if (!event.repeat) this.open(this.rows.get(id).href);
    }
  }

  onEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.ticked.size) return;
    const isElsewhere = event.target.closest?.('input:not([type="checkbox"]), textarea, [role="dialog"]');
    if (!isElsewhere && !document.querySelector('[role="dialog"], [role="listbox"]')) this.clear();
  }

  open(href) {
    if (!href) return;
    const [page, query] = href.split("?");
    this.call("opened", { page, parameters: [...new URLSearchParams(query)] });
  }

  // The focus: one row is a stop of the Tab key, and what is in it

  onFocus(event) {
    this.current = event.target.closest("tr").dataset.row;
    this.showCurrent();
  }

  showCurrent() {
    const isStop = this.data.tickable || this.data.rows.some(row => row.href);
    for (const line of this.body.rows) {
      const isCurrent = line.dataset.row === this.current;
      if (isStop) line.tabIndex = isCurrent ? 0 : -1;
      for (const stop of line.querySelectorAll("a, input")) stop.tabIndex = isCurrent ? 0 : -1;
    }
  }

  focused() {
    const active = document.activeElement;
    if (!this.table.contains(active)) return null;
    if (this.head.contains(active)) return { sort: active.dataset.sort };
    const stops = [...active.closest("tr").querySelectorAll("a, input")];
    return { id: this.current, stop: stops.indexOf(active) };
  }

  focus({ id, stop, sort }) {
    const heads = [...this.head.querySelectorAll("button, input")];
    const line = [...this.body.rows].find(each => each.dataset.row === id);
    const stops = line ? [...line.querySelectorAll("a, input")] : [];
    const next = id ? stops[stop] || line : heads.find(each => each.dataset.sort === sort);
    next?.focus({ preventScroll: true });
  }
}

function classOf(column, index) {
  const names = { "grid-right": column.align === "right", "grid-fills": column.fills, "grid-first": !index };
  return Object.keys(names).filter(name => names[name]).join(" ");
}

// How many digits, with their point, follow the whole part in a column, and how long its longest unit is.
function measure(column, rows) {
  let decimals = 0, unit = 0;
  for (const { cells } of rows) {
    const value = cells[column.key];
    if (!value || column.align !== "right" || column.mixed) continue;
    const found = NUMBER.exec(value.text || "");
    decimals = Math.max(decimals, found && found[2] ? found[2].length : 0);
    unit = Math.max(unit, (value.unit || "").length);
  }
  return { decimals, unit };
}

function whole(value) {
  return [value.text, value.unit, ...(value.parts || []).map(part => part.text)].filter(Boolean).join(" ");
}

// Something that is seen and has another name for those who do not see it.
function sign(className, tone, text, name) {
  const element = make("span", `${className} grid-${tone}`, text);
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", name);
  element.title = name;
  return element;
}

function drawPart({ text, tone, name, title, badge }) {
  const className = badge ? "grid-badge" : "grid-part";
  const part = name ? sign(className, tone, text, name) : make("span", `${className} grid-${tone}`, text);
  if (title) part.title = title;
  return part;
}

function drawSpark({ values, axis, band, name, tone }) {
  const [low, high] = axis;
  const x = index => values.length < 2 ? WIDTH / 2 : INSET + (index * (WIDTH - 2 * INSET)) / (values.length - 1);
  const y = value => HEIGHT - INSET - ((value - low) / (high - low || 1)) * (HEIGHT - 2 * INSET);
  const label = { class: `grid-spark grid-${tone}`, role: "img", "aria-label": name };
  const picture = draw("svg", { ...label, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  const title = draw("title", {});
  title.textContent = name;
  picture.append(title);
  if (band) {
    const top = y(band[1]), height = Math.max(1, y(band[0]) - top);
    picture.append(draw("rect", { class: "grid-band", x: 0, y: top, width: WIDTH, height }));
  }
  const points = values.map((value, index) => `${x(index)},${y(value)}`).join(" ");
  const last = values.length - 1;
  picture.append(draw("polyline", { points }), draw("circle", { cx: x(last), cy: y(values[last]), r: 2 }));
  return picture;
}
