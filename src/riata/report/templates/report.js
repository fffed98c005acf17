(() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const heldOut = data.held_out ? "held-out " : "";  // else it is not known whether the model was fitted on the samples
const points = data.points, features = data.features, names = data.names;
const state = { at: data.at, byLambda: false };
const updates = []; // functions to call when the slider moves

// ---- elements -------------------------------------------------------------------------------------------------------

const byId = id => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const card = (title, ...children) => el("figure", { class: "card" }, el("h3", { dir: "auto" }, title), ...children);
const bdi = text => el("bdi", {}, text);

// ---- numbers --------------------------------------------------------------------------------------------------------

function brief(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const rounded = Number(value.toPrecision(digits));
  const text = size >= 1e-4 && size < 1e7 ? rounded.toLocaleString("en", { maximumFractionDigits: 10 }) : value.toExponential(digits - 1);
  return text.replace("-", "−");
}

// A number and its margin, of two digits, with as many decimals as the margin.
function plusMinus(value, margin) {
  if (value === null || value === undefined || margin === null || margin === undefined) return brief(value);
  if (margin < 1e-4 || margin >= 1e6) return `${brief(value)} ± ${brief(margin, 2)}`;
  const decimals = Math.max(0, 1 - Number(margin.toExponential(1).split("e")[1]));
  const fixed = v => (Number(v.toFixed(decimals)) + 0).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return `${fixed(value).replace("-", "−")} ± ${fixed(margin)}`;
}
const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const cut = (text, n) => { const signs = [...text]; return signs.length > n ? signs.slice(0, n - 1).join("") + "…" : text; };

function stepOf(low, high, n) {
  const rough = (high - low) / n, size = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map(m => m * size).find(s => s >= rough * 0.999);
}

function ticks(low, high, n = 5) {
  if (!(high > low)) return [low];
  const step = stepOf(low, high, n);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) found.push(Math.abs(t) < step * 1e-6 ? 0 : t);
  return found;
}

// The smallest range that ends at ticks and covers another.
function rounded(low, high, n = 4) {
  if (!(high > low)) return [low - (Math.abs(low) || 1) / 2, low + (Math.abs(low) || 1) / 2];
  let range = [low, high];
  for (let round = 0; round < 3; round++) { // a wider range may have wider steps
    const step = stepOf(...range, n);
    range = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  }
  return range;
}

// ---- charts ---------------------------------------------------------------------------------------------------------

const W = 380, H = 230, LEFT = 52, RIGHT = 12, TOP = 12, BOTTOM = 40;

function frame(width = W, height = H) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
}

function scale(low, high, from, to) {
  const size = high - low || 1;
  return value => from + ((value - low) / size) * (to - from);
}

function yAxis(chart, low, high, label, height = H) {
  const y = scale(low, high, height - BOTTOM, TOP);
  for (const t of ticks(low, high, 4)) {
    chart.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(t), y2: y(t) }));
    chart.append(svg("text", { x: LEFT - 6, y: y(t) + 4, "text-anchor": "end" }, brief(t)));
  }
  const middle = (height - BOTTOM + TOP) / 2;
  chart.append(svg("text", { x: 11, y: middle, transform: `rotate(-90 11 ${middle})`, "text-anchor": "middle" }, label));
  return y;
}

function xAxis(chart, low, high, label, height = H) {
  const x = scale(low, high, LEFT, W - RIGHT);
  chart.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM }));
  for (const t of ticks(low, high, 5)) chart.append(svg("text", { x: x(t), y: height - BOTTOM + 15, "text-anchor": "middle" }, brief(t)));
  chart.append(svg("text", { x: (LEFT + W - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, label));
  return x;
}

const path = pairs => pairs.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function runs(values) { // positions of numbers without gaps between them
  const found = [];
  let open = null;
  values.forEach((value, i) => {
    if (value === null || value === undefined) { open = null; return; }
    if (!open) found.push(open = []);
    open.push(i);
  });
  return found;
}

// The horizontal axis of a path: the number of features, above 40 on a scale of logarithms.
const most = points[points.length - 1].n, long = most > 40;
const place = n => (long ? Math.log1p(n) : n);
const across = scale(place(points[0].n), place(most), LEFT + 8, W - RIGHT - 8);
const positions = points.map(p => across(place(p.n)));

function labelsOfPath() { // [position, text], far enough from each other
  const numbers = long ? [1, 10, 100, 1000, 10000, 100000].flatMap(e => [e, 2 * e, 5 * e]) : ticks(points[0].n, most, 6).filter(Number.isInteger);
  const all = state.byLambda
    ? points.map((p, i) => [positions[i], brief(p.lambda, 2)])
    : (long ? [0, ...numbers] : numbers).filter(n => n >= points[0].n && n <= most).map(n => [across(place(n)), n.toLocaleString("en")]);
  const found = [];
  let last = -Infinity;
  for (const [x, text] of all) {
    const half = 3.5 * text.length + 3;
    if (x - half > last) { found.push([x, text]); last = x + half; }
  }
  return found;
}

// A quantity at every point of the path, with one standard error to either side.
function pathChart(title, label, value, error, hint) {
  const values = points.map(p => p[value]), errors = points.map(p => p[error] || 0);
  const known = values.flatMap((v, i) => (v === null ? [] : [v - errors[i], v + errors[i]]));
  if (!known.length) return null;
  const chart = frame();
  const y = yAxis(chart, ...rounded(Math.min(...known), Math.max(...known)), label);
  const x = i => positions[i];
  for (const run of runs(values)) {
    const upper = run.map(i => [x(i), y(values[i] + errors[i])]), lower = run.map(i => [x(i), y(values[i] - errors[i])]).reverse();
    chart.append(svg("path", { class: "band", d: path(upper.concat(lower)) + "Z" }));
    chart.append(svg("path", { class: "line", d: path(run.map(i => [x(i), y(values[i])])) }));
    for (const i of run) chart.append(svg("circle", { class: "dot", cx: x(i), cy: y(values[i]), r: 2.4 }));
  }
  const labels = svg("g"), mark = svg("line", { class: "mark", y1: TOP, y2: H - BOTTOM }), point = svg("circle", { class: "point", r: 5.5 });
  const axis = svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" });
  chart.append(labels, axis, mark, point);
  chart.addEventListener("click", event => {
    const box = chart.getBoundingClientRect(), clicked = ((event.clientX - box.left) / box.width) * W;
    const away = positions.map(x => Math.abs(x - clicked));
    move(away.indexOf(Math.min(...away)));
  });
  updates.push(() => {
    labels.replaceChildren(...labelsOfPath().map(([x, text]) => svg("text", { x, y: H - BOTTOM + 15, "text-anchor": "middle" }, text)));
    axis.textContent = state.byLambda ? "λ" : "number of features";
    const i = state.at, v = values[i];
    mark.setAttribute("x1", x(i)); mark.setAttribute("x2", x(i));
    point.setAttribute("visibility", v === null ? "hidden" : "visible");
    if (v !== null) { point.setAttribute("cx", x(i)); point.setAttribute("cy", y(v)); }
    chart.setAttribute("aria-label", `${title}: ${plusMinus(v, points[i][error])} with ${counted(points[i].n, "feature")}`);
  });
  return card(title, chart, el("p", {}, hint));
}

function weightsChart() {
  const most = 10, left = 150, row = (H - 20) / most;
  const chart = frame(), marks = svg("g"), note = el("p");
  chart.append(marks);
  updates.push(() => {
    const shown = points[state.at].weights.slice(0, most);
    const low = Math.min(0, ...shown.map(w => w[1])), high = Math.max(0, ...shown.map(w => w[1]));
    const x = scale(low, high, left, W - 48);
    marks.replaceChildren(...shown.flatMap(([j, value], i) => [
      svg("text", { x: left - 6, y: 8 + row * (i + 0.5) + 4, "text-anchor": "end", direction: "ltr" }, cut(names[j], 21)),
      svg("rect", { class: value < 0 ? "less" : "fill", x: Math.min(x(0), x(value)), y: 8 + row * i + 3, width: Math.max(1, Math.abs(x(value) - x(0))), height: row - 6, rx: 2 }),
      svg("text", { x: (value < 0 ? x(0) : x(value)) + 5, y: 8 + row * (i + 0.5) + 4 }, brief(value, 2)),
    ]));
    if (shown.length) marks.append(svg("line", { class: "axis", x1: x(0), x2: x(0), y1: 8, y2: 8 + row * shown.length }));
    const n = points[state.at].n;
    const which = n > shown.length ? `The ${shown.length} largest of ${n.toLocaleString("en")}, ` : "";
    note.textContent = `${which}${which ? "for" : "For"} standardised columns. Hidden layers add to them, and an effect may have the other sign: read directions from the effects below.`;
    chart.setAttribute("aria-label", "Linear weights: " + (shown.map(([j, v]) => `${names[j]} ${brief(v, 2)}`).join(", ") || "none"));
  });
  return card("Linear weights at the slider", chart, note);
}

function matrixCard() {
  if (!data.truth.has_matrix) return null;
  const classes = data.truth.classes, body = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" });
  const title = `Confusion matrix of ${counted(data.n_held_out, `${heldOut}sample`)}`;
  updates.push(() => {
    const matrix = points[state.at].matrix;
    const head = el("tr", {}, el("td", {}), classes.map(name => el("th", { scope: "col", title: name }, bdi(cut(name, 14)))));
    const rows = matrix.map((row, i) => {
      const total = row.reduce((a, b) => a + b, 0) || 1;
      return el("tr", {}, el("th", { scope: "row", title: classes[i] }, bdi(cut(classes[i], 14))), row.map((count, j) => {
        const cell = el("td", {}, count.toLocaleString("en")), share = count / total;
        cell.style.background = `color-mix(in srgb, var(${i === j ? "--blue" : "--orange"}) ${Math.round(38 * share)}%, var(--card))`;
        return cell;
      }));
    });
    body.replaceChildren(el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, rows)));
  });
  return card(title, body, el("p", {}, "Rows: true classes. Columns: predicted classes."));
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const COLOURS = ["var(--blue)", "var(--orange)", "var(--grey)"];
const style = k => ({ stroke: COLOURS[k % 3], dash: DASHES[Math.floor(k / 3) % 4] });

function legend(entries) { // [text, colour, dashes]
  return el("ul", { class: "legend" }, entries.map(([text, colour, dashes]) => {
    const line = svg("line", { x1: 0, x2: 22, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": dashes || null });
    line.style.stroke = colour;
    return el("li", {}, svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, line), bdi(text));
  }));
}

function rocCard() {
  if (!points.some(p => p.roc && p.roc.length)) return null;
  const chart = frame(), lines = svg("g"), notes = el("div");
  const y = yAxis(chart, 0, 1, "true positive rate"), x = xAxis(chart, 0, 1, "false positive rate");
  chart.append(svg("line", { class: "chance", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }), lines);
  updates.push(() => {
    const curves = points[state.at].roc, entries = [];
    lines.replaceChildren(...curves.map((curve, k) => {
      const { stroke, dash } = style(k), line = svg("path", { class: "line", d: path(curve.x.map((v, i) => [x(v), y(curve.y[i])])), "stroke-dasharray": dash || null });
      line.style.stroke = stroke;
      entries.push([`${cut(data.truth.classes[curve.class], 24)}: area ${brief(curve.auc)}`, stroke, dash]);
      return line;
    }));
    notes.replaceChildren(legend(entries));
    chart.setAttribute("aria-label", "ROC curves: " + entries.map(e => e[0]).join(", "));
  });
  const more = data.kind === "classes" && data.truth.classes.length > 2 ? "Each class against all others." : "";
  return card("Receiver operating characteristic", chart, notes, more ? el("p", {}, more) : null);
}

function scatterCard() {
  const truth = data.truth, chart = frame(W, 300), marks = svg("g"), chooser = el("select", { "aria-label": "Output" });
  truth.outputs.forEach((name, k) => chooser.append(el("option", { value: k }, name)));
  const draw = () => {
    const k = Number(chooser.value || 0), all = points.flatMap(p => p.predicted[k]).concat(truth.true[k]).filter(v => v !== null);
    const [low, high] = rounded(Math.min(...all), Math.max(...all));
    chart.replaceChildren();
    const y = yAxis(chart, low, high, "predicted", 300), x = xAxis(chart, low, high, "true", 300);
    chart.append(svg("line", { class: "chance", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }), marks);
    marks.replaceChildren(...truth.true[k].map((v, i) => svg("circle", { class: "dot", cx: x(v), cy: y(points[state.at].predicted[k][i]), r: 2.6, opacity: 0.6 })));
    chart.setAttribute("aria-label", `Predicted against true values of ${truth.n_shown} ${heldOut}samples`);
  };
  chooser.addEventListener("change", draw);
  updates.push(draw);
  const some = truth.n_shown < data.n_held_out ? `${truth.n_shown} of ${data.n_held_out.toLocaleString("en")} ${heldOut}samples, drawn at random.` : `${truth.n_shown} ${heldOut}samples.`;
  return card("Predicted against true", truth.outputs.length > 1 ? chooser : null, chart, el("p", {}, some));
}

function survivalCard() {
  const times = data.truth.times, chart = frame(W, 270), lines = svg("g"), notes = el("div");
  const y = yAxis(chart, 0, 1, "survival probability", 270), x = xAxis(chart, 0, times[times.length - 1], "time", 270);
  chart.append(lines);
  updates.push(() => {
    const groups = points[state.at].groups, entries = [], colours = groups.length === 1 ? ["var(--blue)"] : groups.length === 2 ? ["var(--blue)", "var(--orange)"] : ["var(--blue)", "var(--grey)", "var(--orange)"];
    const drawn = [];
    groups.forEach((group, g) => {
      for (const [values, dash] of [[group.observed, null], [group.predicted, "5 3"]]) {
        if (!values) continue;
        for (const run of runs(values)) {
          const steps = run.flatMap((i, k) => [...(k ? [[x(times[i]), y(values[i - 1])]] : []), [x(times[i]), y(values[i])]]);
          const line = svg("path", { class: "line", d: path(steps), "stroke-dasharray": dash });
          line.style.stroke = colours[g];
          drawn.push(line);
        }
      }
      entries.push([`${group.name} (${group.size})`, colours[g], null]);
    });
    lines.replaceChildren(...drawn);
    const both = groups.some(g => g.observed) && groups.some(g => g.predicted);
    notes.replaceChildren(legend(entries), el("p", {}, both ? `Lines: Kaplan-Meier estimates of the ${heldOut}samples, by predicted risk. Dashed: mean predictions.` : groups.some(g => g.predicted) ? "Mean predictions, by predicted risk." : `Kaplan-Meier estimates of the ${heldOut}samples, by predicted risk.`));
    chart.setAttribute("aria-label", "Survival curves of " + entries.map(e => e[0]).join(", "));
  });
  return card("Survival by predicted risk", chart, notes);
}

function crossValidationCard() {
  const cv = data.cv;
  if (!cv || !cv.n.length) return null;
  const chart = frame(), known = cv.score.flatMap((v, i) => [v - (cv.score_se[i] || 0), v + (cv.score_se[i] || 0)]);
  const y = yAxis(chart, ...rounded(Math.min(...known), Math.max(...known)), data.score_name);
  const most = cv.n[cv.n.length - 1], log = n => Math.log1p(n);
  const x = scale(0, log(most), LEFT + 8, W - RIGHT - 8);
  const upper = cv.n.map((n, i) => [x(log(n)), y(cv.score[i] + (cv.score_se[i] || 0))]);
  const lower = cv.n.map((n, i) => [x(log(n)), y(cv.score[i] - (cv.score_se[i] || 0))]).reverse();
  chart.append(svg("path", { class: "band", d: path(upper.concat(lower)) + "Z" }), svg("path", { class: "line", d: path(cv.n.map((n, i) => [x(log(n)), y(cv.score[i])])) }));
  for (const t of [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000].filter(t => t <= most)) chart.append(svg("text", { x: x(log(t)), y: H - BOTTOM + 15, "text-anchor": "middle" }, t.toLocaleString("en")));
  chart.append(svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, "number of features, mean over folds"));
  chart.append(svg("circle", { class: "point", cx: x(log(cv.selected_n)), cy: y(cv.selected_score), r: 5.5 }));
  chart.setAttribute("aria-label", `Cross-validated ${data.score_name}: ${brief(cv.selected_score)} with ${brief(cv.selected_n)} features`);
  return card(`Cross-validation, ${cv.n_folds} folds`, chart, el("p", {}, `Mean ${data.score_name} over folds ± one standard error. The dot is the selected one: the mean number of features over folds, and their score.`));
}

function pixelCards() {
  if (!data.image_shape) return [];
  const [rows, columns] = data.image_shape;
  const paint = (canvas, shade) => {
    canvas.width = columns; canvas.height = rows;
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    for (let j = 0; j < rows * columns; j++) image.data.set(shade(j), 4 * j);
    context.putImageData(image, 0, 0);
  };
  const mask = el("canvas", { role: "img" }), ranks = el("canvas", { role: "img", "aria-label": "Order of importance of all pixels, bright for the most important" });
  updates.push(() => {
    const inside = new Set(points[state.at].selected);
    paint(mask, j => inside.has(j) ? [253, 231, 37, 255] : [40, 44, 70, 255]);
    mask.setAttribute("aria-label", `${counted(inside.size, "selected pixel")} of ${rows * columns}`);
  });
  const place = new Array(rows * columns);
  features.index.forEach((j, i) => { place[j] = 1 - i / (features.index.length - 1 || 1); });
  paint(ranks, j => { const t = place[j] ** 2; return [Math.round(68 + 185 * t), Math.round(1 + 230 * t), Math.round(84 - 47 * t), 255]; });
  return [card("Selected pixels", mask, el("p", {}, "Bright: in the model at the slider.")), card("Order of importance", ranks, el("p", {}, "Brighter is more important."))];
}

const twoClasses = data.kind === "classes" && data.truth.classes.length === 2;
const predictionName = twoClasses ? `probability of ${data.truth.classes[1]}` : data.prediction_name;

// ---- the features at the slider -------------------------------------------------------------------------------------

const rank = new Map(features.index.map((j, i) => [j, i]));

function insideCard() {
  const box = el("div", { class: "card inside" }), most = 60, inModel = new Set(points[data.at].selected);
  updates.push(() => {
    const now = [...points[state.at].selected].sort((a, b) => rank.get(a) - rank.get(b));
    const chips = now.slice(0, most).map(j => el("li", { class: inModel.has(j) ? "model" : null, title: names[j] }, bdi(cut(names[j], 40))));
    if (now.length > most) chips.push(el("li", {}, `and ${(now.length - most).toLocaleString("en")} more: see the table`));
    box.replaceChildren(el("h3", {}, `${counted(now.length, "feature")} at the slider, the most important first`), el("ul", { class: "chips" }, chips), el("p", {}, "Outlined: in the selected model."));
  });
  return box;
}

function readout() {
  const p = points[state.at], parts = [counted(p.n, "feature"), `λ ${brief(p.lambda)}`];
  parts.push(`${data.score_name} ${plusMinus(p.score, p.score_se)}`);
  if (p.val_loss !== null) parts.push(`validation loss ${plusMinus(p.val_loss, p.val_loss_se)}`);
  if (state.at === data.at) parts.push("selected model");
  return parts.join(" · ");
}

function move(i) {
  state.at = Math.min(points.length - 1, Math.max(0, i));
  const slider = byId("slider"), text = readout();
  slider.value = state.at;
  slider.setAttribute("aria-valuetext", `${counted(points[state.at].n, "feature")}, λ ${brief(points[state.at].lambda)}`);
  byId("readout").textContent = text;
  byId("to-model").disabled = state.at === data.at;
  for (const update of updates) update();
}

function pathTable() {
  const head = ["features", "λ", "training loss", "validation loss", "standard error", data.score_name, "standard error"];
  const rows = points.map(p => el("tr", {}, [p.n, p.lambda, p.loss, p.val_loss, p.val_loss_se, p.score, p.score_se].map(v => el("td", { class: "number" }, brief(v, 4)))));
  byId("path-table").append(el("table", {}, el("thead", {}, el("tr", {}, head.map(name => el("th", { class: "number", scope: "col" }, name)))), el("tbody", {}, rows)));
}

// ---- the table of features ------------------------------------------------------------------------------------------

const LABELS = {
  name: "feature", kind: "kind", importance: "importance", smallest_model: "enters at", loss_rise: "loss rise without it",
  effect: "effect", frequency: "stability", statistic: "knockoffs",
};
const PAGE = 25, PRINTED = 1000; // rows
const table = { sort: null, down: true, page: 0, size: PAGE, rows: [] };

function shownColumns() {
  return Object.keys(LABELS).filter(name => name in features && features[name].some(value => value !== null));
}

function tableRows() {
  const wanted = byId("search").value.trim().toLocaleLowerCase(), which = byId("which").value;
  const inside = new Set(points[state.at].selected);
  let rows = features.index.map((_, i) => i);
  if (which === "selected") rows = rows.filter(i => features.selected[i]);
  if (which === "point") rows = rows.filter(i => inside.has(features.index[i]));
  if (wanted) rows = rows.filter(i => features.name[i].toLocaleLowerCase().includes(wanted));
  if (table.sort) {
    const values = features[table.sort], sign = table.down ? -1 : 1;
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    rows.sort((a, b) => {
      const [u, v] = [values[a], values[b]];
      if (u === null || v === null) return (u === null) - (v === null) || a - b;
      return (typeof u === "string" ? sign * compare(u, v) : sign * (u - v)) || a - b;
    });
  }
  return rows;
}

function cell(name, i) {
  const value = features[name][i];
  if (name === "loss_rise") {
    const low = features.loss_rise_low[i], high = features.loss_rise_high[i];
    if (value === null) return "";
    return high === null ? brief(value) : [plusMinus(value, (high - low) / 2), el("span", { class: low <= 0 ? null : "blank" }, " °")];
  }
  if (name === "effect") return value === null ? "" : ofTwoClasses(value).replace(", against the average", "");
  if (name === "frequency") return value === null ? "" : `${brief(100 * value)} %${features.stable[i] ? ", stable" : ""}`;
  if (name === "statistic") return value === null ? "" : `${brief(value)}${features.knockoff[i] ? ", selected" : ""}`;
  if (name === "smallest_model") return value ? counted(value, "feature") : "never";
  return typeof value === "number" ? brief(value) : value === null ? "" : bdi(value);
}

// Of two classes, all effects are on the probability of one, which the hint names.
function ofTwoClasses(effect) {
  if (!twoClasses) return effect;
  const name = data.truth.classes[1], prefix = [name, `\u2068${name}\u2069`].map(n => `probability of ${n} `).find(p => effect.startsWith(p));
  return prefix ? effect.slice(prefix.length) : effect;
}

const NUMBERS = new Set(["importance", "loss_rise", "frequency", "statistic", "smallest_model"]);

function drawTable() {
  table.rows = tableRows();
  const pages = Math.max(1, Math.ceil(table.rows.length / table.size));
  table.page = Math.min(table.page, pages - 1);
  const columns = shownColumns(), shown = table.rows.slice(table.page * table.size, (table.page + 1) * table.size);
  const head = columns.map(name => el("th", { scope: "col", class: NUMBERS.has(name) ? "number" : name === "name" ? null : "words", "aria-sort": table.sort === name ? (table.down ? "descending" : "ascending") : null },
    el("button", { type: "button", "data-column": name, onclick: () => {
      table.down = table.sort === name ? !table.down : NUMBERS.has(name) && name !== "smallest_model";
      table.sort = name; table.page = 0; drawTable();
      document.querySelector(`#table button[data-column="${name}"]`).focus();
    } }, LABELS[name])));
  const body = shown.map(i => el("tr", { class: features.selected[i] ? null : "out" }, columns.map(name =>
    name === "name" ? el("th", { scope: "row" }, bdi(features.name[i])) : el("td", { class: NUMBERS.has(name) ? "number" : "words" }, cell(name, i)))));
  byId("table").replaceChildren(el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
  byId("count").textContent = `${counted(table.rows.length, "feature")} of ${features.index.length.toLocaleString("en")}`;
  const turn = (text, by, possible) => el("button", { type: "button", disabled: !possible, onclick: () => { table.page += by; drawTable(); } }, text);
  byId("pages").replaceChildren(...(pages > 1 ? [turn("Previous", -1, table.page > 0), el("span", {}, `page ${table.page + 1} of ${pages.toLocaleString("en")}`), turn("Next", 1, table.page < pages - 1)] : []));
}

const FILE_COLUMNS = ["name", "kind", "selected", "importance", "smallest_model", "effect", "shape", "size", "towards", "loss_rise", "loss_rise_low", "loss_rise_high", "frequency", "stable", "statistic", "knockoff"];

function download() {
  const columns = FILE_COLUMNS.filter(name => name in features);
  const quoted = value => {
    const plain = value === null || value === undefined ? "" : typeof value === "boolean" ? (value ? "True" : "False") : String(value);
    const text = plain.replace(/[\u2066-\u2069]/g, ""); // marks of names from right to left
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.join(","), ...tableRows().map(i => columns.map(name => quoted(features[name][i])).join(","))];
  const link = el("a", { href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" })), download: "features.csv" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function tableSection() {
  byId("search").addEventListener("input", () => { table.page = 0; drawTable(); });
  byId("which").addEventListener("change", () => { table.page = 0; drawTable(); });
  byId("download").addEventListener("click", download);
  for (const [event, size] of [["beforeprint", PRINTED], ["afterprint", PAGE]]) addEventListener(event, () => { table.size = size; drawTable(); });
  if (!features.selected.some(Boolean)) byId("which").value = "all";
  const hints = ["Importance: the penalty λ at which the feature is dropped from the model; features outside the model have none.",
    "Enters at: the size of the smallest model on the path that has it.",
    `Loss rise: of the ${heldOut}${data.loss_name} where the column is permuted, with 95 % intervals; ° marks those not clearly above 0: these samples do not show that the model needs the feature.`,
    `Effect: on the mean ${predictionName}, over the middle 90 % of the column; of a category, at the two levels that differ most from the average.`];
  if (data.stability) hints.push(`Stability: the share of ${data.stability.n_resamples} half-samples in which it is among the top ${data.stability.n_taken}.`);
  if (data.knockoffs) hints.push(`Knockoffs: by how much it is more important than its knockoff; selected at a false discovery rate of ${data.knockoffs.fdr}.`);
  byId("table-hint").textContent = hints.join(" ");
  updates.push(() => { if (byId("which").value === "point") drawTable(); });
  drawTable();
}

// ---- effects and interactions ---------------------------------------------------------------------------------------

const ew = 280, eh = 170, el0 = 44;

function effectAxis(chart, low, high) {
  const y = scale(low, high, eh - 30, 10);
  for (const t of ticks(low, high, 3)) {
    chart.append(svg("line", { class: "axis", x1: el0, x2: ew - 8, y1: y(t), y2: y(t) }), svg("text", { x: el0 - 5, y: y(t) + 4, "text-anchor": "end" }, brief(t, 2)));
  }
  return y;
}

function outputsShown(effect) {
  if (effect.prediction.length === 2 && data.kind === "classes") return [1];
  const range = effect.prediction.map(line => Math.max(...line) - Math.min(...line));
  return range.map((_, k) => k).sort((a, b) => range[b] - range[a]).slice(0, 3);
}

function numericEffect(chart, effect, shown) {
  const number = v => (effect.dates ? Date.parse(v) / 1000 : v), at = effect.values.map(number);
  const edges = effect.edges.length ? effect.edges : [at[0], at[at.length - 1]];
  const low = Math.min(edges[0], ...at), high = Math.max(edges[edges.length - 1], ...at);
  const x = scale(low, high, el0, ew - 8), most = Math.max(1, ...effect.counts);
  effect.counts.forEach((count, i) => {
    const height = 0.45 * (eh - 40) * (count / most);
    chart.append(svg("rect", { class: "bar", x: x(edges[i]), y: eh - 30 - height, width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1), height }));
  });
  const all = shown.flatMap(k => effect.prediction[k]);
  const y = effectAxis(chart, ...rounded(Math.min(...all), Math.max(...all), 3));
  shown.forEach((k, s) => {
    const line = svg("path", { class: "line", d: path(at.map((v, i) => [x(v), y(effect.prediction[k][i])])), "stroke-dasharray": style(s).dash || null });
    line.style.stroke = style(s).stroke;
    chart.append(line);
  });
  const text = v => (effect.dates ? new Date(v * 1000).toISOString().slice(0, 10) : brief(v, 3));
  const labels = effect.dates ? [low, high] : ticks(low, high, 4);
  labels.forEach((t, i) => chart.append(svg("text", { x: x(t), y: eh - 14, "text-anchor": effect.dates ? (i ? "end" : "start") : "middle" }, text(t))));
}

function levelEffect(chart, effect) {
  const values = effect.prediction[0], n = values.length, row = Math.min(20, (eh - 8) / n), left = 110;
  const low = Math.min(0, ...values), x = scale(low, Math.max(...values, 0), left, ew - 44);
  values.forEach((value, i) => {
    const y = 4 + i * row;
    chart.append(svg("text", { x: left - 6, y: y + row / 2 + 4, "text-anchor": "end" }, cut(effect.values[i], 16)),
      svg("rect", { class: "fill", x: Math.min(x(0), x(value)), y: y + 2, width: Math.max(1, Math.abs(x(value) - x(0))), height: Math.max(2, row - 4), rx: 2 }));
  });
  chart.append(svg("line", { class: "chance", x1: x(effect.average), x2: x(effect.average), y1: 2, y2: 6 + n * row }));
  values.forEach((value, i) => chart.append(svg("text", { class: "halo", x: Math.max(x(0), x(value)) + 4, y: 8 + (i + 0.5) * row }, brief(value, 2))));
}

function effectCard(effect) {
  const name = names[effect.index], chart = frame(ew, eh), shown = effect.ordered ? outputsShown(effect) : [0], parts = [];
  if (effect.ordered) numericEffect(chart, effect, shown);
  else levelEffect(chart, effect);
  chart.setAttribute("aria-label", `Effect of ${name}: ${effect.text}`);
  if (effect.ordered && shown.length > 1) parts.push(legend(shown.map((k, s) => [cut(effect.outputs[k], 20), style(s).stroke, style(s).dash])));
  parts.push(el("p", {}, effect.text));
  if (!effect.ordered && effect.values.length < effect.n_levels) {
    const among = effect.n_compared < effect.n_levels ? ` among the ${effect.n_compared} most common` : "";
    parts.push(el("p", {}, `Shown are ${effect.values.length} of the ${counted(effect.n_levels, "level")} in these samples, those that differ most from the average${among}.`));
  }
  const others = data.alternatives && data.alternatives[name];
  if (others && others.length) parts.push(el("p", {}, "Similar, not in the model: ", others.slice(0, 3).flatMap(([other, r2], i) => [i ? ", " : "", bdi(other), ` (r² ${brief(r2, 2)})`])));
  return card(name, chart, ...parts);
}

function effectSection() {
  const n = features.selected.filter(Boolean).length;
  if (!n) { byId("effects").hidden = true; return; }
  byId("effect-cards").append(...data.effects.map(effectCard));
  const hints = [`Mean ${predictionName} where the feature is set to a value in all ${heldOut}samples. Bars: how the ${heldOut}samples are distributed.`];
  if (data.effects.some(effect => !effect.ordered)) hints.push("Dashed: the average over samples.");
  if (data.alternatives) hints.push("Similar: r² is the share of the feature's variance that the other one explains; with a large one the model might as well have used that.");
  if (data.effects.length < n) hints.push(`Shown are the ${data.effects.length} most important of ${n} features.`);
  byId("effects-hint").textContent = hints.join(" ");
}

function mapCard(map) {
  const chart = frame(ew, 220), [rows, columns] = map.values, left = 62, bottom = 46;
  const flat = map.prediction.flat(), low = Math.min(...flat), high = Math.max(...flat);
  const width = (ew - left - 10) / rows.length, height = (220 - bottom - 8) / columns.length;
  rows.forEach((_, i) => columns.forEach((_, j) => {
    const cell = svg("rect", { x: left + i * width, y: 8 + (columns.length - 1 - j) * height, width: width - 1, height: height - 1 });
    cell.style.fill = `color-mix(in srgb, var(--blue) ${Math.round((100 * (map.prediction[i][j] - low)) / (high - low || 1))}%, var(--faint))`;
    cell.append(svg("title", {}, brief(map.prediction[i][j])));
    chart.append(cell);
  }));
  const label = v => (typeof v === "number" ? brief(v, 2) : cut(v, 8));
  const some = list => list.map((v, i) => i).filter(i => i === 0 || i === list.length - 1 || (list.length < 6) || i === Math.floor(list.length / 2));
  for (const i of some(rows)) chart.append(svg("text", { x: left + (i + 0.5) * width, y: 220 - bottom + 14, "text-anchor": "middle" }, label(rows[i])));
  for (const j of some(columns)) chart.append(svg("text", { x: left - 5, y: 8 + (columns.length - 0.5 - j) * height + 4, "text-anchor": "end" }, label(columns[j])));
  chart.append(svg("text", { x: (left + ew - 10) / 2, y: 214, "text-anchor": "middle", class: "strong" }, cut(map.features[0], 34)));
  const middle = (8 + 220 - bottom) / 2;
  chart.append(svg("text", { x: 13, y: middle, transform: `rotate(-90 13 ${middle})`, "text-anchor": "middle", class: "strong" }, cut(map.features[1], 24)));
  chart.setAttribute("aria-label", `Mean prediction over ${map.features[0]} and ${map.features[1]}, from ${brief(low)} to ${brief(high)}`);
  return card(`${map.features[0]} × ${map.features[1]}`, chart, el("p", {}, `Mean ${data.prediction_name}`, map.output ? [" of ", bdi(map.output)] : null, `: ${brief(low, 2)} (pale) to ${brief(high, 2)} (dark). The interaction is ${brief(100 * map.share, 2)} % of its variance here${map.tested ? "; found by screening" : ""}.`));
}

function mapSection() {
  if (features.selected.filter(Boolean).length < 2) { byId("maps").hidden = true; return; }
  byId("maps-hint").textContent = data.maps.length
    ? `Mean prediction where two features are set to values in all ${heldOut}samples: the pairs of selected features whose effects add up least.`
    : "None is clear: in the pairs of the most important features that were tried, the effects of the two add up.";
  const reason = data.screening.split(": ").slice(1).join(": ");
  if (reason) byId("maps-hint").append(` Not all pairs were tested before the path: ${reason}.`);
  byId("map-cards").append(...data.maps.map(mapCard));
}

// ---- theme, and everything together ---------------------------------------------------------------------------------

function themeButton() {
  const root = document.documentElement, button = byId("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();
}

function explorer() {
  const outcome = { classes: [matrixCard, rocCard], labels: [rocCard], numbers: [scatterCard], times: [survivalCard], intervals: [survivalCard] }[data.kind];
  const penalised = points.some(p => !p.refitted);
  const cards = [
    pathChart(`Score on ${heldOut}samples`, data.score_name, "score", "score_se", "The band is one standard error to either side."),
    pathChart(penalised ? "Validation loss" : "Validation loss after the refit", "validation loss", "val_loss", "val_loss_se", `The band is one standard error to either side${penalised ? "; of the networks before the refit where none is stored" : ""}.`),
    ...outcome.map(make => make()), crossValidationCard(), ...pixelCards(), insideCard(),
  ];
  byId("charts").append(...cards.filter(Boolean));
  byId("weights").append(weightsChart());
  pathTable();
  byId("slider").addEventListener("input", event => move(Number(event.target.value)));
  byId("to-model").addEventListener("click", () => { move(data.at); byId("slider").focus(); });
  byId("by-lambda").addEventListener("change", event => {
    state.byLambda = event.target.checked;
    byId("slider-label").textContent = state.byLambda ? "λ, from large to small" : "Number of features";
    move(state.at);
  });
}

themeButton();
byId("print").addEventListener("click", () => window.print());
explorer();
tableSection();
effectSection();
mapSection();
move(data.at);
})();
