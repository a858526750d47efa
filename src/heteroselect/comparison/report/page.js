"use strict";
// Draws curves from the numbers in the page, reads them under the pointer, enlarges parts of them, and sorts tables.
// It writes text with textContent only, so that no name of a method can become markup.
(() => {
const UNITS = 1000; // a drawing's own width and height, which stretch to any size on a screen
const SVG = "http://www.w3.org/2000/svg";
const all = (where, what) => [...where.querySelectorAll(what)];
const make = (parent, tag, kind, text = "") => {
  const element = document.createElement(tag);
  element.className = kind;
  element.textContent = text;
  return parent.appendChild(element);
};
const shape = (parent, tag, attributes) => {
  const element = parent.appendChild(document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const between = (low, number, high) => Math.min(high, Math.max(low, number));

// ---- scales, which have { low, high, log, unit }: a value's share of their length, and back
const share = (scale, value) => (scale.log ? Math.log(value / scale.low) / Math.log(scale.high / scale.low)
  : (value - scale.low) / (scale.high - scale.low));
const value = (scale, part) => (scale.log ? scale.low * (scale.high / scale.low) ** part
  : scale.low + part * (scale.high - scale.low));
const part = (scale, from, to) => ({ ...scale, low: value(scale, from), high: value(scale, to) });
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });

function ticks(scale) {
  const { low, high } = scale;
  if (scale.log) { // powers of ten, or 1, 2 and 5 times those where there are few
    const powers = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) powers.push(10 ** power);
    const inside = (factors) => powers.flatMap((power) => factors.map((factor) => factor * power))
      .filter((at) => at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9));
    const whole = inside([1]);
    return (whole.length > 2 ? whole : inside([1, 2, 5])).map((at) => ({ at, label: plain.format(at) }));
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / 6));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((length) => (high - low) / length <= 6);
  const [times, sign] = scale.unit === "%" ? [100, "%"] : [1, ""];
  const digits = between(0, -Math.floor(Math.log10(times * step) + 1e-9), 20);
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9) + 0; n <= high / step + 1e-9; n += 1) { // + 0, since -0 has a sign
    found.push({ at: n * step, label: format.format(times * n * step) + sign });
  }
  return found;
}

// ---- curves
function height(line, at) { // of a line where it is drawn at this share of the width; null where it is not
  const { across, y } = line, after = across.findIndex((one) => one >= at - 1e-4);
  if (after < 0 || (after === 0 && across[0] > at + 1e-4)) return null;
  if (after === 0) return y[0];
  const along = between(0, (at - across[after - 1]) / (across[after] - across[after - 1]), 1);
  return y[after - 1] + along * (y[after] - y[after - 1]);
}

function panel(place, chart, data, redraw) {
  const box = make(place, "div", "panel"), legend = place.parentNode.querySelector(".legend");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Chart: ${chart.y.name} against ${data.name}. Arrow keys read it, plus and minus zoom, `
    + "Escape shows the whole.");
  make(box, "div", "yname", chart.y.name);
  const yticks = make(box, "div", "yticks"), area = make(box, "div", "area"), xticks = make(box, "div", "xticks");
  make(box, "div", "xname", data.name);
  const svg = shape(area, "svg", { viewBox: `0 0 ${UNITS} ${UNITS}`, preserveAspectRatio: "none", "aria-hidden": true });
  const grid = shape(svg, "path", { class: "grid" });
  const lines = data.lines.map((line) => {
    const path = (kind) => shape(svg, "path", { class: `${kind} ${line.css}`, "data-m": line.key });
    return { ...line, band: line.low && path("band"), path: path(line.x.length > 1 ? "line" : "line dots") };
  });
  const rule = shape(svg, "path", { class: "rule" }), level = make(area, "span", "level", chart.target.label);
  const cursor = make(area, "div", "cursor"), readout = make(area, "div", "readout"), pick = make(area, "div", "pick");
  const back = make(box, "button", "whole", "whole");
  readout.setAttribute("role", "status");
  back.type = "button";
  let x = data, at = null, from = null; // the part that is shown, where it is read, and where a choice began
  const hide = () => { cursor.hidden = readout.hidden = true; at = null; };
  pick.hidden = true;

  function draw() {
    const y = chart.view, left = (one) => share(x, one), top = (one) => 1 - share(y, one);
    const points = (across, values) => across.map((one, i) => `${UNITS * one} ${UNITS * top(values[i])}`);
    for (const line of lines) {
      line.across = line.x.map(left);
      line.path.setAttribute("d", `M${points(line.across, line.y).join("L")}${line.x.length > 1 ? "" : "h0"}`);
      if (!line.band) continue;
      const edges = [...points(line.across, line.low), ...points(line.across, line.high).reverse()];
      line.band.setAttribute("d", `M${edges.join("L")}z`);
    }
    const put = (where, side, found, position) => {
      where.replaceChildren();
      for (const one of found) make(where, "span", "", one.label).style[side] = `${100 * position(one.at)}%`;
    };
    const [along, up] = [ticks(x), ticks(y)];
    put(xticks, "left", along, left);
    put(yticks, "top", up, top);
    const rows = [...up.map((one) => top(one.at)), top(chart.target.at)].map((one) => `M0 ${UNITS * one}h${UNITS}`);
    rule.setAttribute("d", rows.pop());
    grid.setAttribute("d", along.map((one) => `M${UNITS * left(one.at)} 0v${UNITS}`).concat(rows).join(""));
    level.style.top = `${100 * top(chart.target.at)}%`;
    level.hidden = top(chart.target.at) < 0 || top(chart.target.at) > 1;
    back.hidden = x === data && y === chart.y;
    hide();
  }

  function show(width, heights) { // all panels show the same heights
    [x, chart.view] = [width, heights];
    redraw();
  }
  const whole = () => show(data, chart.y);

  function read(to) {
    at = between(x.low, to, x.high);
    if (data.whole) at = between(Math.ceil(x.low), Math.round(at), Math.floor(x.high));
    const along = share(x, at);
    const found = lines.filter((line) => !line.path.classList.contains("off"))
      .map((line) => ({ key: line.key, y: height(line, along) })).filter((line) => line.y !== null);
    readout.replaceChildren();
    make(readout, "b", "", `${data.name} ${plain.format(at)}`);
    for (const line of found.sort((a, b) => b.y - a.y).slice(0, 14)) {
      const row = make(readout, "span", ""), button = legend.querySelector(`[data-m="${line.key}"]`);
      make(row, "span", "", button.textContent).prepend(button.querySelector("svg").cloneNode(true));
      make(row, "span", "", chart.y.unit === "%" ? percent.format(line.y) : `${plain.format(line.y)} ${chart.y.unit}`.trim());
    }
    cursor.style.left = `${100 * along}%`;
    readout.style.left = along < 0.5 ? `calc(${100 * along}% + 10px)` : "auto";
    readout.style.right = along < 0.5 ? "auto" : `calc(${100 - 100 * along}% + 10px)`;
    cursor.hidden = readout.hidden = false;
  }

  const where = (event) => {
    const around = area.getBoundingClientRect();
    return [between(0, (event.clientX - around.left) / around.width, 1),
      between(0, (event.clientY - around.top) / around.height, 1)];
  };
  const chosen = (to) => { // a choice that is nearly flat, or nearly upright, means all of the other axis
    const [broad, tall] = [Math.abs(to[0] - from[0]) > 0.03, Math.abs(to[1] - from[1]) > 0.06];
    const range = (axis) => [from[axis], to[axis]].sort((a, b) => a - b);
    return broad || tall ? [...(broad ? range(0) : [0, 1]), ...(tall ? range(1) : [0, 1])] : null;
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = where(event);
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const to = where(event), choice = from && chosen(to);
    pick.hidden = !choice;
    if (choice) {
      const [left, right, top, bottom] = choice.map((one) => `${100 * one}%`);
      Object.assign(pick.style, { left, top, width: `calc(${right} - ${left})`, height: `calc(${bottom} - ${top})` });
    }
    read(value(x, to[0]));
  });
  area.addEventListener("pointerup", (event) => {
    const to = where(event), choice = from && chosen(to);
    from = null;
    pick.hidden = true;
    if (choice) show(part(x, choice[0], choice[1]), part(chart.view, 1 - choice[3], 1 - choice[2]));
    else if (event.pointerType !== "mouse") read(value(x, to[0]));
  });
  area.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  area.addEventListener("dblclick", whole);
  back.addEventListener("click", () => { whole(); box.focus(); });
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    if (event.target !== box) return;
    const middle = at === null ? 0.5 : share(x, at);
    const step = data.whole ? Math.max(1, Math.round((x.high - x.low) / 200)) : 0;
    const beside = (way) => (at === null ? x.low : step ? at + way * step : value(x, middle + way / 100));
    const zoom = (factor) => {
      const next = part(x, middle - middle * factor, middle + (1 - middle) * factor);
      const [low, high] = [Math.max(data.low, next.low), Math.min(data.high, next.high)];
      show(low === data.low && high === data.high ? data : { ...data, low, high }, chart.view);
    };
    const keys = {
      ArrowLeft: () => read(beside(-1)), ArrowRight: () => read(beside(1)), Home: () => read(x.low), End: () => read(x.high),
      Escape: whole, "+": () => zoom(0.5), "-": () => zoom(2),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });
  return draw;
}

function curves(place) {
  const chart = JSON.parse(place.dataset.chart);
  chart.view = chart.y;
  const redraw = () => { for (const draw of draws) draw(); };
  const draws = chart.panels.map((data) => panel(place, chart, data, redraw));
  redraw();
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

for (const place of all(document, "[data-chart]")) curves(place);
for (const figure of all(document, "section")) legend(figure);
for (const table of all(document, "table.sortable")) sortable(table);
})();
