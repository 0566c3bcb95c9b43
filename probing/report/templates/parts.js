/* Parts of the page that depend on its data alone: notes, confusions, layers, seeds. */

/* Notes that name hidden models only are hidden; the one on chance names the others. */
function fillNotes(element, data, hidden) {
  const shown = data.chance.filter(([model]) => !hidden.has(model)).map(([model, names]) => `${data.models[model]} on ${names.join(", ")}`);
  element.querySelectorAll(".notes li").forEach((note, place) => {
    const named = data.notes[place];
    note.hidden = named.length > 0 && named.every((model) => hidden.has(model));
    if (note.textContent.startsWith(data.chanceNote)) {
      note.hidden = !shown.length;
      note.textContent = `${data.chanceNote}: ${shown.join("; ")}.`;
    }
  });
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
  return heatMap(names, names, fields, { label: "confusion matrix", size: small ? 24 : 40, wide: small ? 30 : 52 });
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
    const chart = heatMap(measured, layers.map(String), fields, { label: `${stack.encoder}: accuracy by task and layer`, wide: 42 });
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
