// Runs inside of a function; `page`, `window`, `until` and `pixels` are those of the frame in browser.rs.
await until(() => !page.getElementById("map") || page.querySelector("tr.choice"));
for (const details of page.querySelectorAll("details")) details.open = true;
const faults = [];
const { clientWidth, scrollWidth } = page.documentElement;
if (scrollWidth > clientWidth) faults.push(`the page scrolls sideways: ${scrollWidth}`);
const seen = (box) => box.width > 0 && box.left >= 0 && box.right <= clientWidth + .5;

for (const chart of page.querySelectorAll(".chart")) {
  const name = chart.querySelector("svg").getAttribute("aria-label");
  const parts = [...chart.querySelectorAll(".line, .area, .dot, .column")].map((part) => part.getBoundingClientRect());
  if (!parts.some((box) => box.width + box.height > 1)) faults.push(`${name}: the chart is empty`);
  for (const axis of ["x", "y"]) {
    const ticks = [...chart.querySelectorAll(`text.${axis}`)];
    const texts = ticks.map((tick) => tick.textContent);
    if (!texts.length || new Set(texts).size < texts.length) faults.push(`${name}: ${axis} has the ticks ${texts}`);
    const boxes = ticks.map((tick) => tick.getBoundingClientRect());
    if (!boxes.every(seen)) faults.push(`${name}: a tick of ${axis} is cut off`);
    const [from, to] = axis === "x" ? ["left", "right"] : ["top", "bottom"];
    boxes.sort((a, b) => a[from] - b[from]);
    if (boxes.some((box, at) => at > 0 && box[from] < boxes[at - 1][to])) faults.push(`${name}: ticks of ${axis} touch: ${texts}`);
  }
  for (const named of chart.querySelectorAll("p, figcaption span:first-child")) {
    if (!named.textContent || !seen(named.getBoundingClientRect())) faults.push(`${name}: an axis has no name`);
  }
}

const canvas = page.querySelector("#map canvas");
if (canvas) {
  const { width, height } = canvas;
  const { data } = pixels(canvas).getImageData(0, 0, width, height);
  const gutter = Math.round(width * .1);
  const painted = (from, to) => {
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) {
      const x = at / 4 % width;
      if (x >= from && x < to && data[at + 3] > 0) colours.add(data.slice(at, at + 3).join());
    }
    return colours.size;
  };
  if (painted(gutter, width) < 2) faults.push("the map is empty");
  if (painted(0, gutter) < 1) faults.push("the map's rows have no labels");
}

for (const element of page.querySelectorAll("body *:not(script):not(style)")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.getClientRects().length) continue;
  // Text of a picture is as large as the picture is stretched.
  const size = parseFloat(window.getComputedStyle(element).fontSize) * (element.getScreenCTM?.().a ?? 1);
  if (size < 12) faults.push(`${size} px: ${element.textContent.slice(0, 40)}`);
}
for (const [of, parts] of [["h1", "h1"], ["a warning", ".warning"], ["a figure", ".figures dd"]]) {
  for (const part of page.querySelectorAll(parts)) {
    if (!seen(part.getBoundingClientRect()) || part.scrollWidth > part.clientWidth) faults.push(`${of} is cut off: ${part.textContent}`);
  }
}
// The words of names are the texts between the places where they may break.
for (const text of [...page.querySelector("h1").childNodes].filter((node) => node.nodeType === 3)) {
  for (const word of text.data.matchAll(/\S+/g)) {
    const range = page.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    if (range.getClientRects().length > 1) faults.push(`the title breaks inside of ${word[0]}`);
  }
}
// A bar that scrolls out of sight shows nothing.
for (const bar of page.querySelectorAll("svg.bar")) {
  const box = bar.getBoundingClientRect();
  if (box.width > 0 && !seen(box)) faults.push(`a bar is cut off: ${bar.closest("tr").textContent.slice(0, 40)}`);
}
for (const figure of page.querySelectorAll(".figures dd, td")) {
  if (/^–$|NaN|inf\b/.test(figure.textContent)) faults.push(`no figure: ${figure.parentElement.textContent.slice(0, 60)}`);
}
for (const message of page.querySelectorAll("#failures td code")) {
  const { textAlign, whiteSpace } = window.getComputedStyle(message);
  if (textAlign !== "left" && textAlign !== "start" || whiteSpace !== "normal") faults.push("a message does not wrap at the left");
}
if (page.getElementById("map") && !page.querySelector(".legend .empty")) faults.push("the map's empty cells have no legend");
for (const table of page.querySelectorAll("table")) {
  if (!table.closest(".table")) faults.push("a table has no box that scrolls");
}
return faults.slice(0, 20);
