"use strict";
/* Small charts as SVG: dots with intervals, lines, scatter plots, bars and heat maps. Names are inserted as text only. */

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;
const LETTERS = 16; // largest number of a name's letters in a chart
const SHAPES = ["circle", "square", "triangle", "diamond", "cross"];

/* Make an SVG element; children are elements or texts. */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* Make an HTML element; children are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function picture(width, height, label, ...children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...children);
}

/* A long name loses its middle, because names often differ last. */
function shorten(name) {
  return name.length > LETTERS ? `${name.slice(0, LETTERS / 2 - 1)}…${name.slice(-LETTERS / 2)}` : name;
}

function tip(text) {
  return draw("title", {}, text);
}

/* Colours and shapes repeat with different periods, so that forty models look different. */
function paint(element, model) {
  element.classList.add("series");
  element.dataset.model = model;
  element.style.setProperty("--series", `var(--colour-${model % COLOURS})`);
  return element;
}

function marker(model, x, y, size = 4) {
  const s = size, place = `translate(${x} ${y})`;
  const shapes = {
    circle: () => draw("circle", { r: s, transform: place }),
    square: () => draw("path", { d: `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`, transform: place }),
    triangle: () => draw("path", { d: `M0 ${-1.2 * s}L${1.15 * s} ${s}H${-1.15 * s}z`, transform: place }),
    diamond: () => draw("path", { d: `M0 ${-1.3 * s}L${1.3 * s} 0L0 ${1.3 * s}L${-1.3 * s} 0z`, transform: place }),
    cross: () => draw("path", { d: `M${-s} ${-s}L${s} ${s}M${-s} ${s}L${s} ${-s}`, "stroke-width": s / 2, transform: place }),
  };
  return paint(shapes[SHAPES[model % SHAPES.length]](), model);
}

/* Return a function from numbers to positions, with round ticks. */
function scale(numbers, from, to, { log = false, pad = 0.06 } = {}) {
  const warp = log ? Math.log10 : (number) => number;
  let low = Math.min(...numbers.map(warp)), high = Math.max(...numbers.map(warp));
  const room = log ? 0.3 : Math.max(1, Math.abs(low) / 10);
  if (!(high > low)) [low, high] = [low - room, high + room];
  const margin = (high - low) * pad;
  [low, high] = [low - margin, high + margin];
  const place = (number) => from + ((warp(number) - low) / (high - low)) * (to - from);
  place.ticks = log ? logTicks(low, high) : roundTicks(low, high);
  return place;
}

function roundTicks(low, high, wanted = 5) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(low); power <= high; power++) {
    for (const n of [1, 2, 5]) ticks.push(n * 10 ** power);
  }
  const inside = ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  return inside.length ? inside : [10 ** ((low + high) / 2)];
}

function short(number) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(number) >= size) return `${Number((number / size).toPrecision(3))}${letter}`;
  }
  return String(Number(number.toPrecision(3))).replace("-", "−");
}

/* Return a number with fixed decimals; one that rounds to zero has no minus. */
function fixed(number, digits) {
  const text = number.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

function axes(x, y, { left, right, top, bottom, xLabel = "", yLabel = "" }) {
  const group = draw("g");
  for (const tick of x.ticks) {
    group.append(draw("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom }));
    group.append(draw("text", { class: "faint", x: x(tick), y: bottom + 13, "text-anchor": "middle" }, short(tick)));
  }
  for (const tick of y ? y.ticks : []) {
    group.append(draw("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    group.append(draw("text", { class: "faint", x: left - 5, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
  }
  if (xLabel) group.append(draw("text", { class: "faint", x: (left + right) / 2, y: bottom + 27, "text-anchor": "middle" }, xLabel));
  if (yLabel) group.append(draw("text", { class: "faint", x: 2, y: top - 5 }, yLabel));
  return group;
}

/* points: {model, label, mean, low, high, text}; baseline: a number that a vertical line marks. */
function dotPlot(points, { label, baseline = null }) {
  const left = Math.min(LETTERS, Math.max(...points.map((point) => point.label.length))) * 6.9 + 12;
  const width = 320, right = width - 12, top = 6, row = 17, bottom = top + row * points.length + 4;
  const numbers = points.flatMap((point) => [point.low, point.high]);
  const x = scale(baseline === null ? numbers : [...numbers, baseline], left, right);
  const chart = picture(width, bottom + 18, label, axes(x, null, { left, right, top, bottom }));
  if (baseline !== null) chart.append(draw("line", { class: "baseline", x1: x(baseline), x2: x(baseline), y1: top, y2: bottom }));
  points.forEach((point, place) => {
    const y = top + row * (place + 0.6);
    const line = paint(draw("line", { x1: x(point.low), x2: x(point.high), y1: y, y2: y, "stroke-width": 2 }), point.model);
    const name = draw("text", { "data-model": point.model, x: left - 8, y: y + 4, "text-anchor": "end" }, shorten(point.label));
    chart.append(draw("g", {}, tip(`${point.label}: ${point.text}`), name, line, marker(point.model, x(point.mean), y)));
  });
  return chart;
}

/* series: {model, label, xs, ys, kept}; kept is the index of the point that has a marker. */
function linePlot(series, { label, xLabel = "epoch" }) {
  const width = 320, left = 40, right = width - 10, top = 8, bottom = 130;
  const x = scale(series.flatMap((one) => one.xs), left, right, { pad: 0.03 });
  const y = scale(series.flatMap((one) => one.ys), bottom, top);
  x.ticks = x.ticks.filter(Number.isInteger);
  const chart = picture(width, bottom + 30, label, axes(x, y, { left, right, top, bottom, xLabel }));
  for (const one of series) {
    const path = one.xs.map((number, place) => `${place ? "L" : "M"}${x(number).toFixed(1)} ${y(one.ys[place]).toFixed(1)}`).join("");
    const group = draw("g", {}, tip(one.label), paint(draw("path", { class: "line", d: path }), one.model));
    one.xs.forEach((number, place) => {
      if (place === one.kept || one.xs.length === 1) group.append(marker(one.model, x(number), y(one.ys[place]), 4));
    });
    chart.append(group);
  }
  return chart;
}

/* points: {model, label, x, mean, low, high, text} */
/* The names of points beside them, where there is room; the legend and the pointer tell the others. */
function namePoints(places, right) {
  const taken = places.map(({ x, y }) => ({ line: y + 4, from: x - 6, to: x + 6 }));
  return [...places].sort((a, b) => a.y - b.y).flatMap(({ model, label, x, y }) => {
    const text = shorten(label), width = text.length * 5.6, onLeft = x + 9 + width > right;
    const from = onLeft ? x - 9 - width : x + 9;
    const line = y + 4;
    if (taken.some((other) => Math.abs(other.line - line) < 10 && from < other.to && other.from < from + width)) return [];
    taken.push({ line, from, to: from + width });
    return draw("text", { class: "faint", "data-model": model, x: onLeft ? x - 9 : x + 9, y: line, "text-anchor": onLeft ? "end" : "start" }, text);
  });
}

function scatterPlot(points, { label, xLabel, yLabel = "accuracy, %", linear = false }) {
  const width = 400, left = 44, right = width - 16, top = 20, bottom = 210;
  const numbers = points.map((point) => point.x);
  const log = !linear && Math.min(...numbers) > 0 && Math.max(...numbers) / Math.min(...numbers) > 8;
  const x = scale(numbers, left, right, { log, pad: 0.12 });
  const y = scale(points.flatMap((point) => [point.low, point.high]), bottom, top);
  const chart = picture(width, bottom + 32, label, axes(x, y, { left, right, top, bottom, xLabel, yLabel }));
  for (const point of points) {
    const place = x(point.x);
    const line = paint(draw("line", { x1: place, x2: place, y1: y(point.low), y2: y(point.high), "stroke-width": 1.5 }), point.model);
    chart.append(draw("g", {}, tip(`${point.label}: ${point.text}`), line, marker(point.model, place, y(point.mean), 5)));
  }
  chart.append(...namePoints(points.map((point) => ({ model: point.model, label: point.label, x: x(point.x), y: y(point.mean) })), width));
  return chart;
}

/* bars: {label, share, text}, share from 0 to 1 */
function barPlot(bars, { label }) {
  const width = 360, left = 110, right = width - 50, row = 18;
  const chart = picture(width, row * bars.length + 4, label);
  bars.forEach((bar, place) => {
    const y = 2 + row * place, name = bar.label.length > 15 ? `${bar.label.slice(0, 14)}…` : bar.label;
    chart.append(draw("g", {}, tip(`${bar.label}: ${bar.text}`),
      draw("text", { x: left - 6, y: y + 12, "text-anchor": "end" }, name),
      draw("rect", { fill: "var(--band)", x: left, y: y + 2, width: right - left, height: row - 5 }),
      draw("rect", { class: "bar", x: left, y: y + 2, width: (right - left) * bar.share, height: row - 5 }),
      draw("text", { class: "faint", x: right + 5, y: y + 12 }, `${(100 * bar.share).toFixed(1)}`)));
  });
  return chart;
}

/* A bar of the colours of a heat map, from nothing to all. */
function colourBar(from, to) {
  const steps = 24, size = 6, left = from.length * 6 + 8, chart = picture(left + steps * size + to.length * 6 + 12, 16, `colours: ${from} to ${to}`);
  for (let step = 0; step < steps; step++) {
    chart.append(draw("rect", { class: "heat", x: left + step * size, y: 2, width: size, height: 11, "fill-opacity": 0.04 + 0.9 * step / (steps - 1) }));
  }
  chart.append(draw("text", { x: left - 5, y: 12, "text-anchor": "end" }, from), draw("text", { x: left + steps * size + 5, y: 12 }, to));
  return chart;
}

/* fields: {row, column, strength, text, tip, inside}; strength from -1 (loss) to 1 (heat) is the depth of the colour,
   inside an optional function from the field's corner to more elements to draw there; names are cut after `most` letters. */
function heatMap(rows, columns, fields, { label, size = 26, wide = size, most = 18, explain = (name) => name }) {
  const longest = (names) => Math.min(most, Math.max(...names.map((name) => name.length), 1));
  const cut = (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const left = longest(rows) * 7.4 + 12, steep = longest(columns) * 6 > wide;
  const top = steep ? longest(columns) * 5 + 12 : 18;
  const width = left + wide * columns.length + (steep ? longest(columns) * 4 : 6), height = top + size * rows.length + 2;
  const ground = draw("rect", { class: "field", fill: "none", x: left, y: top, width: wide * columns.length, height: size * rows.length });
  const chart = picture(width, height, label, ground);
  rows.forEach((name, place) => {
    chart.append(draw("text", { x: left - 5, y: top + size * (place + 0.5) + 4, "text-anchor": "end" }, tip(explain(name)), cut(name)));
  });
  columns.forEach((name, place) => {
    const x = left + wide * (place + 0.5);
    const turned = steep ? { transform: `translate(${x + 3} ${top - 5}) rotate(-50)` } : { x, y: top - 5, "text-anchor": "middle" };
    chart.append(draw("text", turned, tip(explain(name)), cut(name)));
  });
  for (const field of fields) {
    const x = left + wide * field.column, y = top + size * field.row, depth = Math.min(1, Math.abs(field.strength));
    const group = draw("g", {}, tip(field.tip), draw("rect", { class: "field", fill: "var(--band)", x, y, width: wide, height: size }));
    if (depth) group.append(draw("rect", { class: field.strength < 0 ? "loss" : "heat", x, y, width: wide, height: size, "fill-opacity": depth }));
    if (field.inside) group.append(...field.inside(x, y));
    if (field.text) {
      const over = depth > 0.55 ? "on-heat" : "";
      group.append(draw("text", { class: over, x: x + wide / 2, y: y + size / 2 + 4, "text-anchor": "middle" }, field.text));
    }
    chart.append(group);
  }
  return chart;
}
