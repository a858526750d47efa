"use strict";
// Reads charts that are in the page already: values under the pointer, legends that hide, parts that are enlarged.
// It writes text with textContent only, so that no name of a method can become markup.
(() => {
const UNITS = 10000; // a chart's own width and height
const all = (where, what) => [...where.querySelectorAll(what)];
const make = (parent, tag, kind, text = "") => {
  const element = document.createElement(tag);
  element.className = kind;
  element.textContent = text;
  return parent.appendChild(element);
};

// ---- scales: the same round numbers as the page was made with
const scale = (text, unit) => {
  const [low, high, kind] = text.split(" ");
  return { low: Number(low), high: Number(high), percent: kind === "percent", log: kind === "log", unit };
};
const value = (one, place) => (one.log ? one.low * (one.high / one.low) ** (place / UNITS)
  : one.low + (place / UNITS) * (one.high - one.low));
const place = (one, number) => UNITS * (one.log ? Math.log(number / one.low) / Math.log(one.high / one.low)
  : (number - one.low) / (one.high - one.low));
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const written = (one, number) => (one.percent ? percent.format(number) : `${plain.format(number)} ${one.unit}`.trim());

function powers(low, high) { // on a logarithmic axis: powers of ten, or 1, 2 and 5 times those where there are few
  const found = (factors) => {
    const numbers = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      numbers.push(...factors.map((factor) => factor * 10 ** power).filter((number) => number >= low && number <= high));
    }
    return numbers;
  };
  const whole = found([1]);
  return (whole.length > 2 ? whole : found([1, 2, 5])).map((at) => ({ at, label: plain.format(at) }));
}

function ticks(one, low, high) {
  if (one.log) return powers(low, high);
  const power = 10 ** Math.floor(Math.log10((high - low) / 6));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((length) => (high - low) / length <= 6);
  const shown = one.percent ? 100 : 1;
  const digits = Math.max(0, -Math.floor(Math.log10(shown * step) + 1e-9));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n <= high / step + 1e-9; n += 1) {
    found.push({ at: n * step, label: format.format(shown * n * step) + (one.percent ? "%" : "") });
  }
  return found;
}

// ---- lines
function points(path) {
  const numbers = path.getAttribute("d").match(/-?\d+/g).map(Number);
  const found = [];
  for (let i = 0, x = 0, y = 0; i + 1 < numbers.length; i += 2) {
    x += numbers[i];
    y += numbers[i + 1];
    found.push([x, y]);
  }
  return found;
}

function height(line, x) {
  const after = line.findIndex((point) => point[0] >= x - 0.5);
  if (after < 0 || (after === 0 && line[0][0] > x + 0.5)) return null;
  const [right, left] = [line[after], line[Math.max(0, after - 1)]];
  const width = right[0] - left[0];
  return width ? left[1] + ((right[1] - left[1]) * Math.min(1, (x - left[0]) / width)) : right[1];
}

function lines(panel) {
  const figure = panel.closest("section"), area = panel.querySelector(".area"), svg = area.querySelector("svg");
  const x = scale(panel.dataset.x, panel.dataset.xUnit), y = scale(panel.dataset.y, panel.dataset.yUnit);
  const whole = "whole" in panel.dataset;
  const series = all(svg, ".line").map((path) => ({ path, line: points(path) }));
  const cursor = make(area, "div", "cursor"), readout = make(area, "div", "readout"), pick = make(area, "div", "pick");
  const back = make(panel, "button", "whole", "whole chart");
  const first = { x: panel.querySelector(".xticks").innerHTML, y: panel.querySelector(".yticks").innerHTML };
  const grid = svg.querySelector(".grid"), squares = grid.getAttribute("d"), level = area.querySelector(".level");
  readout.setAttribute("role", "status");
  back.type = "button";
  let view = [0, UNITS, 0, UNITS], at = null, from = null;
  const hide = () => { cursor.hidden = readout.hidden = true; at = null; };
  hide();
  pick.hidden = back.hidden = true;

  function read(to) {
    at = Math.min(view[1], Math.max(view[0], to));
    if (whole) at = place(x, Math.min(Math.floor(x.high), Math.max(Math.ceil(x.low), Math.round(value(x, at)))));
    const number = value(x, at), share = (at - view[0]) / (view[1] - view[0]);
    const found = series.filter((one) => !one.path.classList.contains("off"))
      .map((one) => ({ ...one, y: height(one.line, at) })).filter((one) => one.y !== null).sort((a, b) => a.y - b.y);
    readout.replaceChildren();
    make(readout, "b", "", `${panel.dataset.name} ${plain.format(number)}`);
    for (const one of found.slice(0, 14)) {
      const row = make(readout, "span", ""), key = figure.querySelector(`.legend [data-m="${one.path.dataset.m}"]`);
      const name = make(row, "i", "", key.textContent);
      name.style.fontStyle = "normal";
      name.prepend(key.querySelector("svg").cloneNode(true));
      make(row, "em", "", written(y, value(y, UNITS - one.y))).style.fontStyle = "normal";
    }
    cursor.style.left = `${100 * share}%`;
    readout.style.left = share < 0.5 ? `calc(${100 * share}% + 10px)` : "auto";
    readout.style.right = share < 0.5 ? "auto" : `calc(${100 - 100 * share}% + 10px)`;
    cursor.hidden = readout.hidden = false;
  }

  function show(next) {
    view = next;
    const same = view.join() === [0, UNITS, 0, UNITS].join();
    svg.setAttribute("viewBox", `${view[0]} ${view[2]} ${view[1] - view[0]} ${view[3] - view[2]}`);
    const across = ticks(x, value(x, view[0]), value(x, view[1]));
    const up = ticks(y, value(y, UNITS - view[3]), value(y, UNITS - view[2]));
    const put = (where, side, found, share, old) => {
      if (same) { where.innerHTML = old; return; } // what the page was made with
      where.replaceChildren();
      for (const one of found) make(where, "span", "", one.label).style[side] = `${100 * share(one.at)}%`;
    };
    put(panel.querySelector(".xticks"), "left", across, (one) => (place(x, one) - view[0]) / (view[1] - view[0]), first.x);
    put(panel.querySelector(".yticks"), "bottom", up, (one) => (place(y, one) - UNITS + view[3]) / (view[3] - view[2]), first.y);
    const rows = up.map((one) => `M0 ${UNITS - place(y, one.at)}h${UNITS}`);
    grid.setAttribute("d", same ? squares : across.map((one) => `M${place(x, one.at)} 0v${UNITS}`).concat(rows).join(""));
    if (level) {
      const height = Number(svg.querySelector(".rule").getAttribute("d").match(/M0 (-?\d+)/)[1]);
      const share = (height - view[2]) / (view[3] - view[2]);
      level.style.top = `${100 * share}%`;
      level.hidden = share < 0 || share > 1;
    }
    back.hidden = same;
    hide();
  }

  function zoom(next, up = true) { // panels with the same scale keep showing the same heights
    show(next);
    for (const other of up ? all(figure, ".panel") : []) {
      if (other !== panel && other.dataset.y === panel.dataset.y) {
        other.dispatchEvent(new CustomEvent("heights", { detail: [next[2], next[3]] }));
      }
    }
  }
  panel.addEventListener("heights", (event) => show([view[0], view[1], ...event.detail]));
  back.addEventListener("click", () => { zoom([0, UNITS, 0, UNITS]); panel.focus(); });
  area.addEventListener("dblclick", () => zoom([0, UNITS, 0, UNITS]));

  const where = (event) => {
    const box = area.getBoundingClientRect();
    const share = (number) => Math.min(1, Math.max(0, number));
    return [share((event.clientX - box.left) / box.width), share((event.clientY - box.top) / box.height)];
  };
  const inside = ([left, top]) => [view[0] + left * (view[1] - view[0]), view[2] + top * (view[3] - view[2])];
  // a choice that is nearly flat, or nearly upright, means all of the other axis
  const chosen = (to) => {
    const tall = Math.abs(to[1] - from[1]) > 0.06, broad = Math.abs(to[0] - from[0]) > 0.03;
    const [left, right] = broad ? [from[0], to[0]].sort((a, b) => a - b) : [0, 1];
    const [top, bottom] = tall ? [from[1], to[1]].sort((a, b) => a - b) : [0, 1];
    return tall || broad ? [left, right, top, bottom] : null;
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = where(event);
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const to = where(event), part = from && chosen(to);
    pick.hidden = !part;
    if (part) {
      const [left, right, top, bottom] = part.map((one) => `${100 * one}%`);
      Object.assign(pick.style, { left, top, width: `calc(${right} - ${left})`, height: `calc(${bottom} - ${top})` });
    }
    read(inside(to)[0]);
  });
  area.addEventListener("pointerup", (event) => {
    const part = from && chosen(where(event));
    from = null;
    pick.hidden = true;
    if (part) {
      const [low, high] = [inside([part[0], part[2]]), inside([part[1], part[3]])];
      zoom([low[0], high[0], low[1], high[1]].map(Math.round));
    } else if (event.pointerType !== "mouse") read(inside(where(event))[0]);
  });
  area.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  panel.addEventListener("blur", hide);
  panel.addEventListener("keydown", (event) => {
    if (event.target !== panel) return;
    const width = view[1] - view[0], middle = at ?? view[0] + width / 2;
    const step = whole ? Math.max(1, Math.round((value(x, width) - x.low) / 200)) * (UNITS / (x.high - x.low)) : width / 100;
    const side = (factor) => [middle - (middle - view[0]) * factor, middle + (view[1] - middle) * factor];
    const keys = {
      ArrowLeft: () => read(at === null ? view[0] : at - step), ArrowRight: () => read(at === null ? view[0] : at + step),
      Home: () => read(view[0]), End: () => read(view[1]), Escape: () => zoom([0, UNITS, 0, UNITS]),
      "+": () => zoom([...side(0.5), view[2], view[3]].map(Math.round), false),
      "-": () => zoom([...side(2), view[2], view[3]].map((one) => Math.round(Math.min(UNITS, Math.max(0, one)))), false),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });
}

// ---- legends: a click hides a method, a double click shows it alone
function legend(figure) {
  const buttons = all(figure, ".legend [data-m]");
  const set = (button, shown) => {
    button.setAttribute("aria-pressed", String(shown));
    for (const path of all(figure, `path[data-m="${button.dataset.m}"]`)) path.classList.toggle("off", !shown);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => set(button, button.getAttribute("aria-pressed") !== "true"));
    button.addEventListener("dblclick", () => { for (const one of buttons) set(one, one === button); });
  }
}

// ---- tables: a click on a head sorts by its column, another one turns the order round
function key(cell) { // a median that was not reached is later than all others
  const text = cell.textContent, number = text.match(/-?\d[\d,]*\.?\d*/);
  if (!number) return Infinity;
  return Number(number[0].replaceAll(",", "")) + (text.startsWith(">") ? 1e12 : 0);
}
function sortable(table) {
  const body = table.tBodies[0];
  all(table, "th").forEach((head, column) => {
    const button = make(head, "button", "sort", head.textContent);
    head.firstChild.remove();
    button.type = "button";
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const one of all(table, "th")) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => (column ? key(a.cells[column]) - key(b.cells[column])
        : a.cells[0].textContent.localeCompare(b.cells[0].textContent)) || 0;
      const rows = all(body, "tr").sort((a, b) => (down ? -1 : 1) * order(a, b));
      body.replaceChildren(...rows);
    });
  });
}

for (const panel of all(document, ".panel")) lines(panel);
for (const figure of all(document, "section")) legend(figure);
for (const table of all(document, "table.sortable")) sortable(table);
})();
