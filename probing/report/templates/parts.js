/* Parts of the page that depend on its data alone: notes, confusions, layers, seeds. */

/* An item about hidden models is left out, and so is one that tells how models differ of which one is shown. */
function fillNotes(element, data, hidden) {
  element.querySelectorAll(".notes li").forEach((line, place) => {
    const note = data.notes[place];
    if (!note) return;
    const isShown = (models) => models.some((model) => !hidden.has(model));
    const shown = note.items.filter(([, groups]) => groups.filter(isShown).length >= Math.min(2, groups.length));
    const more = shown.length - note.most;
    const named = shown.slice(0, note.most).map(([text]) => text).concat(more > 0 ? `and ${more} more` : []).join("; ");
    line.hidden = !shown.length;
    line.textContent = `${note.beginning ? `${note.beginning}: ` : ""}${named}.`;
  });
}

/* What a task asks; nothing for a user's own task and for the average. */
function explainTask(data, column) {
  return Object.hasOwn(data.asks, column) ? data.asks[column] : "";
}

/* A label with its meaning, if it has one. */
function spellLabel(data, task, label) {
  const meanings = data.meanings[task];
  return Object.hasOwn(meanings, label) ? `${label}: ${meanings[label]}` : label;
}

function drawConfusion(data, { names, counts }, task) {
  const totals = names.map((_, row) => counts.filter(([gold]) => gold === row).reduce((sum, [, , count]) => sum + count, 0));
  const small = names.length > 8;
  const fields = counts.map(([row, column, count]) => ({
    row, column,
    strength: count / totals[row],
    text: small && String(count).length > 3 ? short(count) : String(count),
    tip: `${spellLabel(data, task, names[row])} taken for ${spellLabel(data, task, names[column])}: ${count} of ${totals[row]}`,
  }));
  return heatMap(names, names, fields, {
    label: "confusion matrix", size: small ? 24 : 40, wide: small ? 30 : 52, explain: (name) => spellLabel(data, task, name),
  });
}

/* Accuracies by task and layer, a heat map for each encoder. */
function drawStacks(data, tasks, rowOf) {
  return data.stacks.map((stack) => {
    const layers = Object.keys(stack.layers).map(Number).sort((a, b) => a - b);
    const valuesOn = (task) => layers.map((layer) => data.views.accuracy[rowOf(stack.layers[layer])][data.columns.indexOf(task)]);
    const measured = tasks.filter((task) => valuesOn(task).some(Boolean));
    const fields = measured.flatMap((task, row) => {
      const chance = data.majorities[task];
      const share = (value) => (chance < 100 ? (value[MEAN] - chance) / (100 - chance) : 0);
      return valuesOn(task).map((value, column) => value && {
        row, column,
        strength: 0.04 + 0.9 * Math.max(0, share(value)),
        text: value[MEAN].toFixed(1),
        tip: `${task}, layer ${layers[column]}: ${value[TEXT]} ${value[HALF]}`,
      }).filter(Boolean);
    });
    const explain = (task) => [task, explainTask(data, task)].filter(Boolean).join(": ");
    const chart = heatMap(measured, layers.map(String), fields, { explain, label: `${stack.encoder}: accuracy by task and layer`, wide: 42 });
    return make("div", { class: "panel" }, make("h4", {}, stack.encoder), colourBar("chance", "100 %"), make("div", { class: "scroller natural", tabindex: 0 }, chart));
  });
}

function seedTable(cell) {
  const head = ["seed", "test", "dev", "best epoch", "seconds"].map((name) => make("th", {}, name));
  const lines = cell.seeds.map((seed) => make("tr", {}, ...[
    seed.seed, seed.test.toFixed(2), seed.dev.toFixed(2), `${seed.best} of ${seed.epochs.length}`, seed.seconds,
  ].map((text) => make("td", {}, String(text)))));
  return make("table", { class: "seeds" }, make("tr", {}, ...head), ...lines);
}
