"use strict";
// The live example: at each change of the form, the WebAssembly of crates/demo ranks, which is loaded at the first one.
// index.html?N=1&C=64 begins with these fields.
{
  const form = document.getElementById("live");
  const SHOWN = 8;
  const COLUMNS = [["time", "time_us"], ["slower", "slower", "times"], ["loss", "loss", "percent"]];
  let loading = null;

  // The WebAssembly is text of a script, since pages of a file system may not read other files.
  async function load() {
    await new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src: `${root}wasm.js`, onload: resolve, onerror: reject });
      document.head.append(script);
    });
    const packed = Uint8Array.from(atob(wasm), (letter) => letter.charCodeAt(0));
    const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return (await WebAssembly.instantiate(await new Response(bytes).arrayBuffer())).instance.exports;
  }

  // A view of the memory is made after each call, which may move it.
  function ask(demo, text) {
    const question = new TextEncoder().encode(text);
    const at = demo.question(question.length);
    new Uint8Array(demo.memory.buffer, at, question.length).set(question);
    const length = demo.rank();
    return JSON.parse(new TextDecoder().decode(new Uint8Array(demo.memory.buffer, demo.answer(), length)));
  }

  const problem = () => [...form.querySelectorAll("input")].filter(({ value }) => value)
    .flatMap(({ name, value }) => name.split(" ").map((field) => `${field}=${value}`)).join(",");

  const element = (tag, text, attributes = {}) => Object.assign(document.createElement(tag), { textContent: text }, attributes);

  function command(gpu) {
    const model = gpu ? `--model estimate --arch ${gpu}` : "--arch gfx950";
    return element("pre", `ckselect rank ${model} --pool configs/forward_bf16.txt \\\n  --problem '${problem()}'`);
  }

  // Each figure has all of its digits as an attribute.
  function table(rows) {
    const box = element("div", "", { className: "wide" });
    const lines = box.appendChild(document.createElement("table"));
    lines.createTHead().insertRow().append(...["", "time", "slower", "loss", "kernel"].map((name) => element("th", name)));
    const body = lines.createTBody();
    rows.slice(0, SHOWN).forEach((row, place) => {
      const figures = COLUMNS.map(([name, exact, shown = name]) => {
        const cell = element("td", row[shown] ?? "");
        cell.dataset[name] = row[exact] ?? "";
        return cell;
      });
      const rank = element("td", place + 1);
      rank.dataset.score = row.score;
      body.insertRow().append(rank, ...figures, element("td", row.kernel));
    });
    return box;
  }

  function show({ error, heading, outside, rows }) {
    if (error) return form.answer.replaceChildren(element("p", error, { className: "wrong" }));
    const beyond = outside.length ? ` Outside of what was measured: ${outside.join(", ")}.` : "";
    form.answer.replaceChildren(element("p", heading + beyond), table(rows), command(form.gpu.value));
  }

  async function redraw() {
    if (!loading) form.answer.replaceChildren(element("p", "Loading …"));
    try {
      loading ??= load();
      const demo = await loading;
      show(ask(demo, [form.gpu.value, problem(), form.kernels.value].join("\n")));
    } catch (error) {
      loading = null;
      show({ error: `This browser cannot run it: ${error.message ?? "wasm.js is not there"}` });
    }
  }

  form.hidden = false;
  form.addEventListener("input", redraw);
  form.addEventListener("submit", (event) => event.preventDefault());
  const given = [...new URLSearchParams(location.search)].filter(([name]) => form.elements[name]);
  given.forEach(([name, value]) => { form.elements[name].value = value; });
  if (given.length) redraw();
}
