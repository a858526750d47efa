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
  return { low: Number(low), high: Number(high), percent: kind === "percent", unit };
};
const value = (one, place) => one.low + (place / UNITS) * (one.high - one.low);
const place = (one, number) => (UNITS * (number - one.low)) / (one.high - one.low);
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const written = (one, number) => (one.percent ? percent.format(number) : `${plain.format(number)} ${one.unit}`.trim());

function ticks(one, low, high) {
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
  const series = all(svg, ".line").map((path) => ({ path, line: points(path), who: path.dataset.who?.split(" ") }));
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
      const name = make(row, "i", "", one.who ? `${key.textContent}: client ${one.who[Math.round(number) - 1]}` : key.textContent);
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

// ---- legends
function legend(figure) {
  const buttons = all(figure, ".legend [data-m]"), every = all(figure, ".legend .every");
  const paths = (button) => all(figure, `path[data-m="${button.dataset.m}"]`);
  const set = (button, shown) => {
    button.setAttribute("aria-pressed", String(shown));
    for (const path of paths(button)) path.classList.toggle("off", !shown);
  };
  const pressed = (button) => button.getAttribute("aria-pressed") === "true";
  const light = (button, on) => {
    figure.classList.toggle("dim", on && pressed(button));
    for (const path of paths(button)) path.classList.toggle("on", on);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => { set(button, !pressed(button)); light(button, pressed(button)); });
    button.addEventListener("dblclick", () => { for (const one of buttons) set(one, one === button); });
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) {
      button.addEventListener(event, () => light(button, on));
    }
  }
  for (const button of every) {
    button.addEventListener("click", () => { for (const one of buttons) set(one, "all" in button.dataset); });
  }
}

// ---- maps: a colour of the picture is a value
function chart(element) {
  const area = element.querySelector(".area"), readout = make(area, "div", "readout");
  const [down, across] = element.dataset.cell.split(" ").map(Number);
  const ends = element.dataset.v?.split(" ").map(Number), bar = element.querySelector(".shades i");
  const stops = bar && getComputedStyle(bar).backgroundImage.match(/rgb\([^)]*\)/g);
  const colours = stops?.map((stop) => stop.match(/\d+/g).map(Number));
  const shown = () => area.querySelector("img:not([hidden])"), known = new Map();
  let at = null;
  readout.setAttribute("role", "status");
  readout.hidden = true;

  function cell(image, row, column) {
    if (!known.has(image)) {
      const size = { width: image.naturalWidth, height: image.naturalHeight };
      const canvas = Object.assign(document.createElement("canvas"), size);
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      known.set(image, context.getImageData(0, 0, canvas.width, canvas.height).data);
    }
    const pixels = known.get(image), first = 4 * (row * image.naturalWidth + column);
    return pixels[first + 3] ? [...pixels.slice(first, first + 3)] : null;
  }
  function shade(colour) { // the nearest point on the way from colour to colour
    let best = [Infinity, 0];
    for (let i = 0; i + 1 < colours.length; i += 1) {
      const way = colours[i + 1].map((one, c) => one - colours[i][c]);
      const length = way.reduce((sum, one) => sum + one * one, 0);
      const along = Math.min(1, Math.max(0, way.reduce((sum, one, c) => sum + one * (colour[c] - colours[i][c]), 0) / length));
      const far = way.reduce((sum, one, c) => sum + (colours[i][c] + along * one - colour[c]) ** 2, 0);
      if (far < best[0]) best = [far, (i + along) / (colours.length - 1)];
    }
    return ends[0] + best[1] * (ends[1] - ends[0]);
  }
  const range = (first, count) => (count > 1 ? `s ${first} to ${first + count - 1}` : ` ${first}`);
  function read(row, column) {
    const image = shown(), rows = image.naturalHeight, columns = image.naturalWidth;
    at = [Math.min(rows - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))];
    const colour = cell(image, ...at);
    readout.replaceChildren();
    make(readout, "b", "", `client${range(at[0] * down, down)}, round${range(at[1] * across + 1, across)}`);
    const said = colour && ends ? `${element.dataset.says} ≈ ${rough.format(shade(colour))}` : element.dataset.says;
    make(readout, "span", "", colour ? said : "nothing");
    const [left, top] = [at[1] / columns, at[0] / rows];
    Object.assign(readout.style, left < 0.5 ? { left: `${100 * left + 4}%`, right: "auto" } : { left: "auto", right: `${104 - 100 * left}%` });
    Object.assign(readout.style, top < 0.5 ? { top: `${100 * top + 4}%`, bottom: "auto" } : { top: "auto", bottom: `${104 - 100 * top}%` });
    readout.hidden = false;
  }
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const [row, column] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    read(Math.floor(row * shown().naturalHeight), Math.floor(column * shown().naturalWidth));
  });
  for (const [where, event] of [[area, "pointerleave"], [element, "blur"]]) {
    where.addEventListener(event, () => { readout.hidden = true; at = null; });
  }
  element.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    read(...(at ? [at[0] + move[0], at[1] + move[1]] : [0, 0]));
    event.preventDefault();
  });
}

for (const panel of all(document, ".panel")) lines(panel);
for (const figure of all(document, "section")) legend(figure);
for (const element of all(document, ".map")) chart(element);
for (const select of all(document, ".choice select")) {
  const show = () => {
    const figure = select.closest("section");
    for (const image of all(figure, "[data-choice]")) image.hidden = image.dataset.choice !== select.value;
    for (const panels of all(figure, ".panels")) panels.hidden = !panels.querySelector("img:not([hidden])");
  };
  select.addEventListener("change", show);
  show(); // a browser that goes back keeps what was chosen
}
})();
