/* The page: views, sorting, hiding, tooltips, and the charts below. A value is a list, packed by pack_value in page.py. */

const [MEAN, LOW, HIGH, TEXT, HALF, BEST, MARK] = [0, 1, 2, 3, 4, 5, 6];
const BASELINES = { difference: 0, selectivity: 0, "word selectivity": 0, compression: 1 }; // figures of a model that knows nothing; the baseline of accuracy is the majority
const WORST = 24; // largest number of labels whose accuracy is drawn
const page = JSON.parse(document.getElementById("data").textContent);
const card = document.getElementById("card");

function fillSelect(select, names) {
  select.replaceChildren(...names.map((name, place) => make("option", { value: place }, name)));
}

/* A chart under its title, with a text that the pointer shows on it. */
function panel(title, chart, explained = "") {
  return make("div", { class: "panel" }, make("h4", explained ? { title: explained } : {}, title), chart);
}

function showSection(element, data, number) {
  const find = (selector) => element.querySelector(selector);
  const tasks = data.columns.filter((column) => Object.hasOwn(data.majorities, column));
  const cellOf = (model, task) => data.cells.find((cell) => cell.model === model && cell.task === task);
  const body = find(".scores tbody");
  const rows = [...body.rows];
  const first = find(".reference select")?.value;
  const state = {}; // what a reader has chosen: view, reference, hidden, sort, chosen (a cell), column (of the costs)

  const shownModels = () => data.models.map((_, model) => model).filter((model) => !state.hidden.has(model));
  const valuesOf = (row) => (state.view === "difference" ? data.differences[state.reference] : data.views[state.view])[row];
  const valueAt = (row, column) => (column < data.columns.length ? valuesOf(row)[column] : data.bleus[row]); // BLEU is the last column, in every view
  const fieldsOf = (line) => [...line.cells].slice(1, 1 + data.columns.length);
  const rowOf = (model) => data.rows.findIndex((row) => row.model === model);

  /* Accuracies and differences have marks: those of the difference from the reference. */
  const isMarked = () => state.view === "accuracy" || state.view === "difference";
  const markOf = (row, column) => (isMarked() && data.differences[state.reference]?.[row][column]?.[MARK]) || "";

  function fillCaption() {
    const reference = data.models[state.reference];
    const difference = `Test accuracy minus that of ${reference}, in percentage points, ± half the 95 % interval of the difference.`;
    find(".caption .what").textContent = state.view === "difference" ? difference : data.captions[state.view];
    find(".caption .bold").hidden = state.view !== "accuracy";
    find(".caption .bold-hidden").hidden = state.view !== "accuracy" || !data.columns.some((_, column) => leaderOf(column) !== leaderOf(column, shownModels()));
    if (reference === undefined) return;
    find(".caption .marks").hidden = !isMarked();
    find(".reference-name").textContent = reference;
  }

  /* The model that is highest in a column, of all or of some; if the best of all is hidden, the highest shown is bold. */
  function leaderOf(column, models = data.models.map((_, model) => model)) {
    const mean = (model) => data.views.accuracy[rowOf(model)][column]?.[MEAN] ?? -Infinity;
    return models.reduce((best, model) => (best === null || mean(model) > mean(best) ? model : best), null);
  }

  function isBest(model, column, value) {
    if (state.view !== "accuracy" || model === null || !value) return false;
    const leader = leaderOf(column, shownModels());
    return leader === leaderOf(column) ? value[BEST] : model === leader;
  }

  function keep() {
    const { column, direction } = state.sort, curve = find("select.curve");
    keepView(number, {
      view: state.view === "accuracy" ? "" : state.view,
      reference: state.reference === first ? "" : state.reference,
      hidden: [...state.hidden].sort((a, b) => a - b).join(","),
      sort: direction === "none" ? "" : `${column},${direction}`,
      curve: curve.selectedIndex ? curve.value : "",
      cell: state.chosen === data.cells[0] ? "" : data.cells.indexOf(state.chosen),
      cost: state.column === data.columns.length - 1 ? "" : state.column,
    });
  }

  /* Take the view from the address, as far as this page has it; the rest is as the page was made. */
  function restore() {
    const saved = readView(number);
    const pick = (choices, name) => choices.find((choice) => choice.value === saved(name)) ?? choices[0];
    const place = (text, count, otherwise) => (/^\d+$/.test(text ?? "") && Number(text) < count ? Number(text) : otherwise);
    const view = pick([...element.querySelectorAll(".views input")], "view");
    view.checked = true;
    state.view = view.value;
    if (first !== undefined) state.reference = find(".reference select").value = pick([...find(".reference select").options], "reference").value;
    const hidden = (saved("hidden") ?? "").split(",");
    const models = [...element.querySelectorAll(".models input")];
    for (const input of models) input.checked = !hidden.includes(input.value);
    state.hidden = new Set(models.filter((input) => !input.checked).map((input) => Number(input.value)));
    const [column, direction] = (saved("sort") ?? "").split(",");
    const sorted = place(column, data.columns.length + (data.bleus.length ? 1 : 0), null);
    const isSorted = sorted !== null && ["ascending", "descending"].includes(direction);
    state.sort = isSorted ? { column: sorted, direction } : { column: null, direction: "none" };
    find("select.curve").value = pick([...find("select.curve").options], "curve").value;
    state.chosen = data.cells[place(saved("cell"), data.cells.length, 0)];
    state.column = find("select.cost-column").value = place(saved("cost"), data.columns.length, data.columns.length - 1);
  }

  function save() {
    const shown = rows.map((_, row) => row).filter((row) => !rows[row].hidden);
    const columns = data.bleus.length ? [...data.columns, "BLEU"] : data.columns;
    const head = ["model", ...columns.flatMap((column) => [column, `${column} low`, `${column} high`])];
    const values = (row) => columns.map((_, column) => valueAt(row, column));
    const lines = shown.map((row) => [data.rows[row].label, ...values(row).flatMap((value) => (value ? value.slice(MEAN, HIGH + 1) : ["", "", ""]))]);
    saveRows(`${state.view}.csv`, [head, ...lines]);
  }

  function fillTable() {
    rows.forEach((line, row) => {
      const values = valuesOf(row), model = data.rows[row].model;
      line.hidden = state.hidden.has(model) || values.every((value) => value === null);
      fieldsOf(line).forEach((field, column) => {
        const value = values[column];
        field.classList.toggle("best", isBest(model, column, value));
        field.replaceChildren(make("span", { class: "figure" }, value ? value[TEXT] : "–"));
        if (value) field.append(make("span", { class: "mark" }, markOf(row, column)), make("span", { class: "half" }, value[HALF]));
      });
    });
    fillCaption();
    fillNotes(element, data, state.hidden);
    sortTable();
    keep();
  }

  function sortTable() {
    const { column, direction } = state.sort;
    find(".scores .columns").querySelectorAll("th[aria-sort]").forEach((head, place) => {
      head.setAttribute("aria-sort", place === column ? direction : "none");
    });
    const key = (line) => valueAt(rows.indexOf(line), column)?.[MEAN] ?? -Infinity;
    const ordered = [...rows];
    if (direction === "descending") ordered.sort((a, b) => key(b) - key(a));
    if (direction === "ascending") ordered.sort((a, b) => (key(a) === -Infinity) - (key(b) === -Infinity) || key(a) - key(b));
    // If the order stays the same, the rows are not moved, so that the focus is not lost.
    if (ordered.some((line, place) => line !== body.rows[place])) body.append(...ordered);
  }

  function drawDots() {
    const charts = data.columns.map((column, place) => {
      const points = shownModels().map((model) => ({ model, value: valuesOf(rowOf(model))[place] })).filter((point) => point.value);
      if (!points.length) return null;
      const baseline = BASELINES[state.view] ?? data.majorities[column] ?? null;
      const low = Math.min(...points.map((point) => point.value[LOW])), high = Math.max(...points.map((point) => point.value[HIGH]));
      const near = baseline !== null && baseline > low - (high - low) && baseline < high + (high - low);
      return panel(column, dotPlot(points.map(({ model, value }) => ({
        model, label: data.models[model], mean: value[MEAN], low: value[LOW], high: value[HIGH], text: `${value[TEXT]} ${value[HALF]}`,
      })), { label: `${column}: ${state.view} of each model with its interval`, baseline: near ? baseline : null }), explainTask(data, column));
    });
    find(".dots").replaceChildren(...charts.filter(Boolean));
  }

  function drawCurves() {
    const what = find("select.curve").value;
    const charts = tasks.map((task) => {
      const series = data.cells.filter((cell) => cell.task === task && !state.hidden.has(cell.model)).flatMap((cell) =>
        cell.seeds.filter((seed) => seed.epochs.length).map((seed) => ({
          model: cell.model,
          label: `${data.models[cell.model]}, seed ${seed.seed}`,
          xs: seed.epochs,
          ys: seed[what],
          kept: seed.epochs.indexOf(seed.best),
        })));
      return series.length ? panel(task, linePlot(series, { label: `${task}: training curves` }), explainTask(data, task)) : null;
    });
    find(".curves").replaceChildren(...charts.filter(Boolean));
    find(".curve-legend").replaceChildren(legend(shownModels(), data.models));
  }

  function drawCell() {
    const cell = state.chosen;
    if (!cell) return;
    body.querySelector(".chosen")?.classList.remove("chosen");
    rows[rowOf(cell.model)].cells[1 + data.columns.indexOf(cell.task)].classList.add("chosen");
    find("select.task").value = tasks.indexOf(cell.task);
    find("select.model").value = cell.model;
    find(".cell-facts").replaceChildren(seedTable(cell));
    const bars = cell.classes.map(([label, test, right]) => ({ label: spellLabel(data, cell.task, label), share: test ? right / test : 0, text: `${right} of ${test}` }));
    const drawn = bars.length > WORST ? [...bars].sort((a, b) => a.share - b.share).slice(0, WORST) : bars;
    find(".classes").replaceChildren(barPlot(drawn, { label: "accuracy by label" }));
    if (drawn.length < bars.length) find(".classes").append(make("p", { class: "hint" }, `The ${WORST} lowest of ${bars.length} labels.`));
    find(".confusion").replaceChildren(drawConfusion(data, cell.confusion, cell.task));
  }

  function drawCosts() {
    const column = data.columns[state.column];
    const points = shownModels().map((model) => {
      const value = data.views.accuracy[rowOf(model)][state.column];
      const cells = data.cells.filter((cell) => cell.model === model && (cell.task === column || !Object.hasOwn(data.majorities, column)));
      const mean = (key) => cells.reduce((sum, cell) => sum + cell[key], 0) / cells.length;
      return value && {
        model, label: data.models[model], mean: value[MEAN], low: value[LOW], high: value[HIGH],
        parameters: mean("parameters"), seconds: mean("seconds"),
      };
    }).filter(Boolean);
    const plot = (key, unit) => scatterPlot(points.map((point) => ({
      ...point, x: point[key], text: `${point.mean.toFixed(2)} at ${short(point[key])} ${unit}`,
    })), { label: `accuracy against ${unit}`, xLabel: unit });
    const charts = points.length ? [
      panel("Accuracy against parameters", plot("parameters", "parameters")),
      panel("Accuracy against training time", plot("seconds", "seconds per task and seed")),
    ] : [make("p", { class: "hint" }, "None of the shown models has this figure.")];
    find(".costs").replaceChildren(...charts);
    find(".cost-legend").replaceChildren(legend(points.map((point) => point.model), data.models));
  }

  /* A panel for the average, if there is one, and then for each task. */
  function drawBleus() {
    if (!data.bleus.length) return;
    const columns = data.columns.map((_, column) => column);
    const models = shownModels().filter((model) => data.bleus[rowOf(model)]);
    const charts = [...columns.slice(tasks.length), ...columns.slice(0, tasks.length)].map((column) => {
      const points = models.map((model) => {
        const value = data.views.accuracy[rowOf(model)][column], bleu = data.bleus[rowOf(model)];
        return value && {
          model, label: data.models[model], x: bleu[MEAN], mean: value[MEAN], low: value[LOW], high: value[HIGH],
          text: `${value[TEXT]} ${value[HALF]} at BLEU ${bleu[TEXT]} ${bleu[HALF]}`,
        };
      }).filter(Boolean);
      const name = data.columns[column];
      return points.length ? panel(name, scatterPlot(points, { label: `${name}: accuracy against BLEU`, xLabel: "BLEU", linear: true }), explainTask(data, name)) : null;
    });
    find(".bleus").replaceChildren(...charts.filter(Boolean));
    find(".bleu-legend").replaceChildren(legend(models, data.models));
  }

  function showCard(field, cell) {
    const facts = cell.facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]);
    clearTimeout(hiding);
    card.replaceChildren(make("h4", {}, `${data.models[cell.model]} on ${cell.task}`), seedTable(cell), make("dl", {}, ...facts));
    card.hidden = false;
    const box = field.getBoundingClientRect(), size = card.getBoundingClientRect();
    const below = box.bottom + size.height + 8 < innerHeight || box.top < size.height + 8;
    card.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
    card.style.top = `${below ? Math.min(box.bottom + 4, innerHeight - size.height - 4) : box.top - size.height - 4}px`;
  }

  function choose(cell) {
    if (!cell) return;
    state.chosen = cell;
    drawCell();
    keep();
  }

  /* One field of the table can be reached with Tab, the others with the arrow keys. */
  function walk(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const line = event.target.closest("tr");
    if (!step || !line) return;
    event.preventDefault();
    const lines = [...body.rows].filter((one) => !one.hidden);
    for (let row = lines.indexOf(line) + step[0], place = event.target.cellIndex + step[1]; ; row += step[0], place += step[1]) {
      const next = lines[row]?.cells[place];
      if (!next) return;
      if (next.hasAttribute("tabindex")) return reach(next);
    }
  }

  function reach(field) {
    body.querySelectorAll('td[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", -1));
    field.setAttribute("tabindex", 0);
    field.focus();
  }

  function listen() {
    let first = 0;
    rows.forEach((line, row) => fieldsOf(line).forEach((field, column) => {
      const cell = cellOf(data.rows[row].model, data.columns[column]);
      if (!cell) return;
      field.setAttribute("tabindex", first);
      field.setAttribute("aria-describedby", "card");
      first = -1;
      field.addEventListener("mouseenter", () => showCard(field, cell));
      field.addEventListener("focus", () => showCard(field, cell));
      field.addEventListener("mouseleave", hideSoon);
      field.addEventListener("blur", hideSoon);
      field.addEventListener("click", () => choose(cell));
      field.addEventListener("keydown", (event) => event.key === "Enter" && choose(cell));
    }));
    body.addEventListener("keydown", walk);
    find(".scores .columns").querySelectorAll("button").forEach((button, column) => button.addEventListener("click", () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" };
      state.sort = { column, direction: next[state.sort.column === column ? state.sort.direction : "none"] };
      sortTable();
      keep();
    }));
    find("button.download").addEventListener("click", save);
    find(".views").addEventListener("change", (event) => { state.view = event.target.value; fillTable(); drawDots(); });
    find(".reference select")?.addEventListener("change", (event) => { state.reference = event.target.value; fillTable(); drawDots(); });
    find(".models").addEventListener("change", (event) => {
      const model = Number(event.target.value);
      event.target.checked ? state.hidden.delete(model) : state.hidden.add(model);
      update();
    });
    find("select.curve").addEventListener("change", () => { drawCurves(); keep(); });
    find("select.task").addEventListener("change", (event) => {
      const task = tasks[event.target.value];
      choose(cellOf(state.chosen.model, task) || data.cells.find((cell) => cell.task === task));
    });
    find("select.model").addEventListener("change", (event) => {
      const model = Number(event.target.value);
      choose(cellOf(model, state.chosen.task) || data.cells.find((cell) => cell.model === model));
    });
    find("select.cost-column").addEventListener("change", (event) => { state.column = Number(event.target.value); drawCosts(); keep(); });
  }

  function update() {
    fillTable();
    drawDots();
    drawCurves();
    drawBleus();
    drawCosts();
  }

  fillSelect(find("select.task"), tasks);
  fillSelect(find("select.model"), data.models);
  fillSelect(find("select.cost-column"), data.columns);
  element.querySelectorAll(".swatch").forEach((swatch) => {
    swatch.append(picture(14, 14, "", marker(Number(swatch.dataset.model), 7, 7, 4.5)));
  });
  restore();
  listen();
  highlight(element);
  update();
  drawCell();
  window.addEventListener("hashchange", () => { // a link to this page was followed, or the address changed by hand
    restore();
    update();
    drawCell();
  });
  find(".stacks")?.replaceChildren(...drawStacks(data, tasks, rowOf));
}

let hiding = 0;
function hideSoon() {
  clearTimeout(hiding);
  hiding = setTimeout(() => { if (!card.matches(":hover")) card.hidden = true; }, 120);
}
card.addEventListener("mouseleave", hideSoon);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") card.hidden = true; });

page.sections.forEach((data, number) => showSection(document.querySelector(`[data-section="${number}"]`), data, number));
showExplanations(document.getElementById("explanations"), page.explanations);
