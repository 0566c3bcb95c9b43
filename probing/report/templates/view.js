/* The view that a reader has chosen, kept in the page's address, and the table as a file. */

const FORMULA = /^[=+\-@\t\r＝＋－＠]/;

/* The part of the address after # holds what differs from the page as it was made: view-0=difference&hidden-0=1,2. */
function readView(number) {
  const parts = new URLSearchParams(location.hash.slice(1));
  return (name) => parts.get(`${name}-${number}`);
}

function keepView(number, values) {
  const parts = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) parts.delete(`${name}-${number}`);
    else parts.set(`${name}-${number}`, value);
  }
  const text = parts.toString();
  history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
}

/* A text that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers. */
function spellCell(value) {
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""').replaceAll("\r", "\\r")}"` : text;
}

function saveRows(name, rows) {
  const text = rows.map((row) => row.map(spellCell).join(",")).join("\n") + "\n";
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/* What is scrolled to comes below the controls that stay at the top. */
const room = new ResizeObserver(() => {
  const heights = [...document.querySelectorAll(".controls")].map((controls) => getComputedStyle(controls).position === "sticky" ? controls.offsetHeight + 8 : 0);
  document.documentElement.style.scrollPaddingTop = `${Math.max(0, ...heights)}px`;
});
document.querySelectorAll(".controls").forEach((controls) => room.observe(controls));

/* Links of a table of contents scroll, and leave the view in the address. */
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault();
  document.querySelector(link.getAttribute("href")).scrollIntoView();
}));

/* A model under the pointer stands out in all charts of its section. */
function highlight(element) {
  let lit = null;
  const show = (model) => {
    if (model === lit) return;
    lit = model;
    element.querySelectorAll("svg [data-model]").forEach((mark) => mark.classList.toggle("dim", model !== null && mark.dataset.model !== model));
  };
  element.addEventListener("mouseover", (event) => show(event.target.closest("[data-model]")?.dataset.model ?? null));
  element.addEventListener("mouseleave", () => show(null));
}

/* The names of the models with their marks, next to a chart. */
function legend(models, names) {
  return make("p", { class: "legend" }, ...models.map((model) =>
    make("span", { "data-model": model }, picture(12, 12, "", marker(model, 6, 6, 4)), names[model])));
}
