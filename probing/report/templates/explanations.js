/* Routing made visible: weights (R iterations, L tokens, H heads, G groups of capsules) and attention (H, L, L), in thousandths. */

function showExplanations(element, { sentences, masking }) {
  if (!element) return;
  if (masking.length) drawMasking(element.querySelector(".masking"), masking);
  if (sentences.length) showSentences(element, sentences);
}

function drawMasking(place, masking) {
  const named = masking.map((item) => ({ ...item, head: `${item.layer}.${item.head}` }));
  const unique = (key) => [...new Set(named.map((item) => item[key]))];
  const tasks = unique("task"), heads = unique("head");
  const largest = Math.max(1, ...named.map((item) => Math.abs(item.drop)));
  place.replaceChildren(...unique("model").map((model) => {
    const fields = named.filter((item) => item.model === model).map((item) => ({
      row: heads.indexOf(item.head),
      column: tasks.indexOf(item.task),
      strength: -item.drop / largest,
      text: fixed(item.drop, 1),
      tip: `${model} on ${item.task} without head ${item.head}: ${item.accuracy.toFixed(2)}, a loss of ${fixed(item.drop, 2)}`,
    }));
    const chart = heatMap(heads, tasks, fields, { label: `${model}: accuracy lost by head and task`, size: 22, wide: 42 });
    return make("div", { class: "panel" }, make("h4", {}, model), make("div", { class: "scroller natural", tabindex: 0 }, chart));
  }));
}

function showSentences(element, sentences) {
  const find = (selector) => element.querySelector(selector);
  const [sentence, layer, weights, iteration] = [".sentence", ".layer", ".weights", ".iteration"].map(find);
  const chosen = () => sentences[sentence.value];
  const view = () => chosen().layers[layer.value];

  function changeSentence() {
    const { layers, gold, predicted } = chosen();
    fillSelect(layer, layers.map((_, place) => String(place + 1)));
    layer.value = layers.length - 1;
    find(".prediction").textContent = `Predicted: ${predicted}` + (gold === null ? "" : `; right: ${gold}`);
    changeLayer();
  }

  function changeLayer() {
    const { tokens } = chosen();
    find(".attention").replaceChildren(...view().attention.map((head, number) => {
      const fields = head.flatMap((row, from) => row.map((weight, to) => ({
        row: from, column: to, strength: weight / 1000, text: "",
        tip: `head ${number + 1}, ${tokens[from]} to ${tokens[to]}: ${weight / 10} %`,
      })));
      return panel(`Head ${number + 1}`, heatMap(tokens, tokens, fields, { label: `attention of head ${number + 1}`, size: 18 }));
    }));
    find(".routing").hidden = !view().share;
    if (!view().share) return;
    iteration.max = iteration.value = view().share.length;
    changeRouting();
  }

  function changeRouting() {
    const shown = view()[weights.value];
    find(".routing output").textContent = `${iteration.value} of ${shown.length}`;
    find(".agreement").replaceChildren(drawRouting(shown, Number(iteration.value) - 1, chosen().tokens));
  }

  fillSelect(sentence, sentences.map((one) => `${one.model} on ${one.task}: ${one.tokens.join(" ")}`));
  sentence.addEventListener("change", changeSentence);
  layer.addEventListener("change", changeLayer);
  weights.addEventListener("change", changeRouting);
  iteration.addEventListener("input", changeRouting);
  changeSentence();
}

/* A field for each head and token, in it a bar for each group of capsules; all iterations share one scale. */
function drawRouting(iterations, iteration, tokens) {
  const weights = iterations[iteration], groups = weights[0][0].length;
  const largest = Math.max(1, ...iterations.flat(3));
  const size = 34, wide = Math.max(46, groups * 5 + 4), bar = (wide - 4) / groups;
  const names = weights[0].map((_, head) => `head ${head + 1}`);
  const fields = weights.flatMap((byHead, column) => byHead.map((byGroup, row) => ({
    row, column, strength: 0, text: "",
    tip: `${tokens[column]}, head ${row + 1}: ${byGroup.map((weight) => weight / 10).join(", ")} %`,
    inside: (x, y) => byGroup.map((weight, number) => {
      const height = ((size - 4) * weight) / largest;
      return draw("rect", { class: "heat", x: x + 2 + number * bar, y: y + size - 2 - height, width: Math.max(1, bar - 1), height });
    }),
  })));
  return heatMap(names, tokens, fields, { label: "routing weights by head and token", size, wide });
}
