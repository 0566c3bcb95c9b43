/* The page on translations: costs, curves, and the sentences of two systems side by side. Names and texts are inserted as text only. */

const AT_ONCE = 25; // number of sentences that are shown at first, and by each press of the button
const groups = JSON.parse(document.getElementById("data").textContent);

function panel(title, chart) {
  return make("div", { class: "panel" }, make("h4", {}, title), chart);
}

function showGroup(element, data) {
  const find = (selector) => element.querySelector(selector);
  const hidden = new Set();
  const state = { shown: AT_ONCE };

  function drawCosts() {
    const points = data.costs.map((cost, model) => ({ ...cost, model, label: data.systems[model] })).filter((point) => !hidden.has(point.model));
    const plot = (key, unit) => {
      const chosen = points.filter((point) => point[key] !== null).map((point) => ({
        ...point, x: point[key], text: `BLEU ${point.mean.toFixed(2)} at ${short(point[key])} ${unit}`,
      }));
      return chosen.length ? scatterPlot(chosen, { label: `BLEU against ${unit}`, xLabel: unit, yLabel: "BLEU" }) : make("p", { class: "hint" }, "Not measured.");
    };
    find(".costs").replaceChildren(
      panel("BLEU against parameters", plot("parameters", "parameters")),
      panel("BLEU against decoding speed", plot("decode", "sentences a second")),
    );
  }

  /* The shades begin at the lowest score, so that small differences between good systems can be seen. */
  function drawPhenomena() {
    if (!find(".phenomena")) return;
    const systems = data.systems.map((_, system) => system).filter((system) => !hidden.has(system) && data.phenomena.some((row) => row.scores[system]));
    const low = Math.min(...data.phenomena.flatMap((row) => systems.map((system) => row.scores[system]?.[0] ?? 100)));
    const fields = data.phenomena.flatMap((row, place) => systems.map((system, column) => {
      const score = row.scores[system];
      return score && {
        row: place, column,
        strength: low < 100 ? 0.04 + 0.9 * (score[0] - low) / (100 - low) : 0.9,
        text: score[0].toFixed(1),
        tip: `${row.name}, ${data.systems[system]}: ${score[0].toFixed(1)} [${score[1].toFixed(1)}, ${score[2].toFixed(1)}]. ${row.description}`,
      };
    })).filter(Boolean);
    const names = data.phenomena.map((row) => row.name);
    find(".phenomena").replaceChildren(systems.length
      ? heatMap(names, systems.map((system) => data.systems[system]), fields, { label: "accuracy by phenomenon and system", wide: 48, most: 34 })
      : make("p", { class: "hint" }, "No system is shown."));
  }

  function drawCurves() {
    const what = find("select.curve").value;
    const series = data.curves.filter((curve) => !hidden.has(curve.system)).map((curve) => {
      const places = curve[what].map((_, place) => place).filter((place) => curve[what][place] !== null);
      return {
        model: curve.system,
        label: `${data.systems[curve.system]}, seed ${curve.seed}`,
        xs: places.map((place) => curve.steps[place]),
        ys: places.map((place) => curve[what][place]),
        kept: places.indexOf(curve.kept),
      };
    }).filter((one) => one.xs.length);
    const name = find("select.curve").selectedOptions[0].textContent;
    find(".curves").replaceChildren(series.length
      ? panel(name, linePlot(series, { label: `${name} by training step`, xLabel: "step" }))
      : make("p", { class: "hint" }, "Not measured."));
  }

  /* The words of a translation; those that its reference does not have so often are marked. */
  function markWords(text, reference) {
    const left = new Map();
    for (const word of reference.split(/\s+/)) left.set(word, (left.get(word) || 0) + 1);
    return text.split(/(\s+)/).map((part) => {
      if (!part || /^\s+$/.test(part)) return part;
      const count = left.get(part) || 0;
      left.set(part, count - 1);
      return count > 0 ? part : make("u", {}, part);
    });
  }

  function order(first, second) {
    const differences = data.sentences.sources.map((_, place) => data.sentences.scores[first][place] - data.sentences.scores[second][place]);
    const keys = { apart: (d) => -Math.abs(d), first: (d) => -d, second: (d) => d, text: () => 0 };
    const key = keys[find("select.order").value];
    const places = differences.map((_, place) => place).sort((a, b) => key(differences[a]) - key(differences[b]) || a - b);
    return { differences, places };
  }

  function line(name, score, content) {
    const head = make("span", { class: "who" }, name, score === null ? "" : make("span", { class: "score" }, score.toFixed(1)));
    return make("div", { class: "line" }, head, make("span", { class: "said", dir: "auto" }, ...content));
  }

  function drawSentences() {
    if (!find("select.first")) return;
    const [first, second] = [find("select.first").value, find("select.second").value];
    const { differences, places } = order(first, second);
    const { sources, references, outputs, scores } = data.sentences;
    find(".sentences").replaceChildren(...places.slice(0, state.shown).map((place) => {
      const said = (system) => line(data.systems[system], scores[system][place], markWords(outputs[system][place], references[place]));
      const gap = differences[place];
      return make("article", { class: "sentence" },
        make("h4", {}, `Sentence ${data.sentences.numbers[place]}: ${gap > 0 ? "+" : ""}${gap.toFixed(1).replace("-", "−")}`),
        line("Source", null, [sources[place]]), line("Reference", null, [references[place]]),
        make("div", { class: "pair" }, said(first), said(second)));
    }));
    const better = differences.filter((gap) => gap > 0).length, worse = differences.filter((gap) => gap < 0).length;
    find(".tally").textContent = `${data.systems[first]} is better on ${better} sentences, ${data.systems[second]} on ${worse}; ${places.length - better - worse} are equal.`;
    find(".more").hidden = state.shown >= places.length;
  }

  function fillChoices() {
    const known = Object.keys(data.sentences.outputs);
    for (const [name, chosen] of [["first", known[known.length - 1]], ["second", known[0]]]) {
      const label = (system) => `${data.systems[system]} (seed ${data.sentences.seeds[system]})`;
      find(`select.${name}`).replaceChildren(...known.map((system) => make("option", { value: system }, label(system))));
      find(`select.${name}`).value = chosen;
    }
    for (const name of ["first", "second", "order"]) {
      find(`select.${name}`).addEventListener("change", () => { state.shown = AT_ONCE; drawSentences(); });
    }
    find(".more").addEventListener("click", () => { state.shown += AT_ONCE; drawSentences(); });
  }

  element.querySelectorAll(".swatch").forEach((swatch) => {
    swatch.append(picture(14, 14, "", marker(Number(swatch.dataset.model), 7, 7, 4.5)));
  });
  find(".models").addEventListener("change", (event) => {
    const system = Number(event.target.value);
    event.target.checked ? hidden.delete(system) : hidden.add(system);
    drawCosts();
    drawPhenomena();
    drawCurves();
  });
  const measured = (name) => data.curves.some((curve) => curve[name].some((value) => value !== null));
  find("select.curve").value = measured("dev_bleu") ? "dev_bleu" : "dev_loss";
  find("select.curve").addEventListener("change", drawCurves);
  if (find("select.first")) fillChoices();
  drawCosts();
  drawPhenomena();
  drawCurves();
  drawSentences();
}

groups.forEach((data, number) => {
  if (data.systems.length) showGroup(document.querySelector(`[data-group="${number}"]`), data);
});
