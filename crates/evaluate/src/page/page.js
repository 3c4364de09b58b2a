"use strict";
// Tables sort by a column and filter by words; charts say the values at the pointer; a map is drawn.
(() => {
  const element = (name, of, more) => Object.assign(of.ownerDocument.createElement(name), more);
  // A cell's number, whatever stands around it; not a number for words.
  const number = (text) => /^[-+]?\d/.test(text) ? parseFloat(text.replace(/\s/g, "")) : NaN;
  const text = (row, column) => row.cells[column]?.textContent ?? "";

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    if (rows.length < 2) continue;
    const arranged = () => table.dispatchEvent(new Event("arranged"));
    heads.forEach((head, column) => {
      const numeric = rows.some((row) => !Number.isNaN(number(text(row, column))));
      const button = element("button", head, { type: "button", textContent: head.textContent });
      if (!head.textContent) return;
      button.title = "sort";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keyed = rows.map((row) => [numeric ? number(text(row, column)) : text(row, column), row]);
        const sign = down ? -1 : 1;
        keyed.sort(([a], [b]) => {
          if (!numeric) return sign * a.localeCompare(b);
          // What is no number comes last, whichever the direction.
          return Number.isNaN(a) - Number.isNaN(b) || (Number.isNaN(a) ? 0 : sign * (a - b));
        });
        body.append(...keyed.map(([, row]) => row));
        arranged();
      });
    });
    if (rows.length <= 8) continue;
    const box = table.closest(".table");
    const bar = element("div", table, { className: "filter" });
    const input = element("input", table, { type: "search", placeholder: "filter: rows that have all of these words" });
    input.setAttribute("aria-label", "filter rows");
    const count = element("output", table);
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const line = words.length ? row.textContent.toLowerCase() : "";
        row.hidden = !words.every((word) => line.includes(word));
        shown += !row.hidden;
      }
      count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length} rows`;
      arranged();
    };
    input.addEventListener("input", show);
    bar.append(input, count);
    box.before(bar);
    show();
  }

  // What a part of a chart says appears at once and at the pointer; a browser's own titles come late.
  const tip = element("div", document.body, { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const tell = (said, { clientX, clientY }) => {
    tip.hidden = !said;
    if (!said) return;
    tip.textContent = said;
    const { clientWidth, clientHeight } = document.documentElement;
    tip.style.left = `${Math.max(4, Math.min(clientX + 14, clientWidth - tip.offsetWidth - 4))}px`;
    const below = clientY + 18;
    tip.style.top = `${below + tip.offsetHeight < clientHeight ? below : Math.max(4, clientY - tip.offsetHeight - 10)}px`;
  };
  for (const title of document.querySelectorAll("svg title")) {
    const part = title.parentElement;
    part.dataset.says = title.textContent;
    part.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  for (const chart of document.querySelectorAll(".chart > svg")) {
    const parts = [...chart.querySelectorAll("[data-says]")];
    let at = -1;
    chart.addEventListener("pointermove", (event) => tell(event.target.dataset.says, event));
    chart.addEventListener("pointerdown", (event) => tell(event.target.dataset.says, event));
    chart.addEventListener("pointerleave", (event) => tell("", event));
    chart.addEventListener("blur", (event) => tell("", event));
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Enter") parts[at]?.dispatchEvent(new Event("click"));
      if (!step || !parts.length) return;
      event.preventDefault();
      at = Math.max(0, Math.min(parts.length - 1, at + step));
      const box = parts[at].getBoundingClientRect();
      tell(parts[at].dataset.says, { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 });
    });
  }
  const map = document.getElementById("map");
  if (map) drawMap(map, tell);
})();

// The map of kernels and problems: a canvas that draws only what is seen, out of a byte or two a cell.
async function drawMap(map, tell) {
  const { levels, wide } = map.dataset;
  const [kernels, problems] = ["kernels", "problems"].map((id) => {
    const table = document.getElementById(`${id}-table`);
    const rows = [...table.tBodies[0].rows];
    return { table, rows, names: rows.map((row) => row.cells[0].textContent), at: new Map(rows.map((row, place) => [row, place])) };
  });
  const packed = Uint8Array.from(atob(document.getElementById("cells").textContent.trim()), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(unpacked).arrayBuffer();
  const cells = wide ? new Uint16Array(bytes) : new Uint8Array(bytes);
  const across = problems.rows.length;
  const cell = (kernel, problem) => cells[kernel * across + problem];
  // What a cell's steps stand for; of a byte, equal steps of the root of what is lost.
  const share = Float64Array.from({ length: +levels + 2 }, (_, value) => wide ? (value - 1) / levels : 1 - (1 - (value - 1) / levels) ** 2);
  const percent = (value) => wide || value > levels ? `${(share[value] * 100).toFixed(2)} %` : `about ${(share[value] * 100).toFixed(1)} %`;

  // A row is named by what its kernel does not share with all others.
  const words = kernels.names.map((name) => name.split("_"));
  const shared = words[0].map((word, at) => words.length > 1 && words.every((one) => one[at] === word));
  const labels = words.map((one) => one.filter((_, at) => !shared[at]).join("_") || one.join("_"));

  // Dark is slow, bright is fast.
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const colours = Array.from({ length: 256 }, (_, place) => {
    const along = place / 255 * (stops.length - 1);
    const from = Math.min(Math.floor(along), stops.length - 2);
    return stops[from].map((value, part) => Math.round(value + (stops[from + 1][part] - value) * (along - from)));
  });
  const FASTEST = [255, 59, 48];

  const space = map.firstElementChild;
  const canvas = space.firstElementChild;
  const view = { rows: [], columns: [], width: 0, height: 0, gutter: 0, zoom: 1, cursor: null };
  const said = document.getElementById("said");

  // As the tables are sorted and filtered.
  function arrange() {
    const places = (side) => [...side.table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => side.at.get(row));
    Object.assign(view, { rows: places(kernels), columns: places(problems), cursor: null });
    size();
  }

  function size() {
    const most = Math.min(576, Math.max(240, innerHeight * .7));
    const inner = map.clientWidth;
    const down = view.rows.length || 1;
    const over = view.columns.length || 1;
    const fit = Math.min(28, most / down);
    view.height = Math.min(28, fit * view.zoom);
    view.gutter = Math.min(190, inner * .38);
    view.width = Math.min(40, (inner - view.gutter) / over * view.zoom);
    const [wide, tall] = [view.gutter + view.width * over, view.height * down];
    space.style.width = `${wide}px`;
    space.style.height = `${tall}px`;
    map.style.height = `${Math.min(most, tall) + (wide > inner + 1 ? 18 : 2)}px`;
    draw();
  }

  // The cells that each pixel shows, from and to.
  const spans = (pixels, start, extent, count) => Array.from({ length: pixels }, (_, pixel) => {
    const from = Math.floor((start + pixel) / extent);
    const to = Math.max(from + 1, Math.min(count, Math.floor((start + pixel + 1) / extent)));
    const gap = extent >= 8 && (start + pixel + 1) % extent < 1;
    return from >= count || gap ? null : [from, to];
  });

  function draw() {
    const scale = Math.min(devicePixelRatio || 1, 2);
    const [wide, tall] = [map.clientWidth, map.clientHeight];
    canvas.width = Math.max(1, Math.round(wide * scale));
    canvas.height = Math.max(1, Math.round(tall * scale));
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${tall}px`;
    const paint = canvas.getContext("2d");
    const gutter = Math.round(view.gutter * scale);
    const image = paint.createImageData(Math.max(1, canvas.width - gutter), canvas.height);
    const columns = spans(image.width, map.scrollLeft * scale, view.width * scale, view.columns.length);
    const rows = spans(image.height, map.scrollTop * scale, view.height * scale, view.rows.length);
    let at = 0;
    for (const row of rows) {
      for (const column of columns) {
        if (row && column) {
          let [sum, count, fastest] = [0, 0, false];
          for (let y = row[0]; y < row[1]; y++) {
            const base = view.rows[y] * across;
            for (let x = column[0]; x < column[1]; x++) {
              const value = cells[base + view.columns[x]];
              if (value) { sum += share[value]; count++; fastest = value > levels; }
            }
          }
          if (count) {
            const single = count === 1 && row[1] - row[0] === 1 && column[1] - column[0] === 1;
            const [r, g, b] = single && fastest ? FASTEST : colours[Math.round(sum / count * 255)];
            image.data[at] = r; image.data[at + 1] = g; image.data[at + 2] = b; image.data[at + 3] = 255;
          }
        }
        at += 4;
      }
    }
    paint.putImageData(image, gutter, 0);
    label(paint, scale, gutter);
    if (view.cursor) outline(paint, scale);
  }

  // Where rows are lower than their names, some are named, each with a line to it.
  function label(paint, scale, gutter) {
    paint.font = `${12 * scale}px system-ui, sans-serif`;
    paint.fillStyle = paint.strokeStyle = getComputedStyle(map).color;
    paint.lineWidth = scale;
    paint.textBaseline = "middle";
    const each = Math.ceil(14 / view.height);
    const room = gutter - 18 * scale;
    const first = Math.floor(map.scrollTop / view.height / each) * each + (each >> 1);
    for (let y = first; y < view.rows.length && (y - first) * view.height < map.clientHeight + 14; y += each) {
      let text = labels[view.rows[y]];
      const { width } = paint.measureText(text);
      if (width > room) text = `${text.slice(0, Math.max(1, Math.floor(text.length * room / width) - 1))}…`;
      const middle = ((y + .5) * view.height - map.scrollTop) * scale;
      paint.fillText(text, 6 * scale, Math.max(middle, 7 * scale));
      paint.beginPath();
      paint.moveTo(gutter - 8 * scale, middle);
      paint.lineTo(gutter - 2 * scale, middle);
      paint.stroke();
    }
  }

  function outline(paint, scale) {
    const [row, column] = view.cursor;
    const [x, y] = [view.gutter + column * view.width - map.scrollLeft, row * view.height - map.scrollTop];
    paint.strokeStyle = "#fff";
    paint.lineWidth = 2 * scale;
    paint.strokeRect(x * scale - 2, y * scale - 2, Math.max(view.width, 3) * scale + 3, Math.max(view.height, 3) * scale + 3);
    paint.strokeStyle = "#000";
    paint.lineWidth = scale;
    paint.strokeRect(x * scale - 3, y * scale - 3, Math.max(view.width, 3) * scale + 5, Math.max(view.height, 3) * scale + 5);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - view.gutter + map.scrollLeft) / view.width);
    const row = Math.floor((event.clientY - box.top + map.scrollTop) / view.height);
    const inside = row >= 0 && row < view.rows.length && column >= 0 && column < view.columns.length && event.clientX - box.left >= view.gutter;
    return inside ? [row, column] : null;
  }

  function says(place) {
    if (!place) return "";
    const [kernel, problem] = [view.rows[place[0]], view.columns[place[1]]];
    const value = cell(kernel, problem);
    const speed = !value ? "not measured, or failed" : value > levels ? "the fastest" : `${percent(value)} of the fastest`;
    return `${speed}\n${kernels.names[kernel]}\n${problems.names[problem]}`;
  }

  map.addEventListener("scroll", draw);
  canvas.addEventListener("pointermove", (event) => tell(says(under(event)), event));
  canvas.addEventListener("pointerleave", (event) => tell("", event));
  canvas.addEventListener("click", (event) => {
    const place = under(event);
    if (place) { tell("", event); open(problems, view.columns[place[1]]); }
  });
  map.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter" && view.cursor) open(problems, view.columns[view.cursor[1]]);
    if (!step || !view.rows.length || !view.columns.length) return;
    event.preventDefault();
    const [row, column] = view.cursor ?? [0, 0];
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    view.cursor = view.cursor ? [clamp(row + step[0], view.rows.length), clamp(column + step[1], view.columns.length)] : [0, 0];
    const [y, x] = [view.cursor[0] * view.height, view.gutter + view.cursor[1] * view.width];
    if (y < map.scrollTop || y + view.height > map.scrollTop + map.clientHeight) map.scrollTop = y - map.clientHeight / 2;
    if (x < map.scrollLeft + view.gutter || x + view.width > map.scrollLeft + map.clientWidth) map.scrollLeft = x - map.clientWidth / 2;
    said.textContent = says(view.cursor);
    draw();
  });
  document.getElementById("zoom-in").addEventListener("click", () => { view.zoom = Math.min(view.zoom * 2, 512); size(); });
  document.getElementById("zoom-out").addEventListener("click", () => { view.zoom = Math.max(1, view.zoom / 2); size(); });
  document.getElementById("zoom-fit").addEventListener("click", () => { view.zoom = 1; size(); });
  for (const side of [kernels, problems]) side.table.addEventListener("arranged", arrange);
  addEventListener("resize", size);

  // One problem with its kernels, or one kernel with its problems.
  const dialog = document.getElementById("one");
  function open(side, place) {
    const of = (other) => side === problems ? cell(other, place) : cell(place, other);
    const others = side === problems ? kernels : problems;
    const measured = others.names.map((name, other) => [of(other), name]).filter(([value]) => value);
    measured.sort((a, b) => b[0] - a[0]);
    const row = side.rows[place];
    const heads = [...side.table.tHead.rows[0].cells].map((head) => head.textContent);
    dialog.querySelector("h2").textContent = side.names[place];
    dialog.querySelector("p").textContent = heads.slice(1).map((head, column) => `${head}: ${row.cells[column + 1].textContent}`).join(" · ");
    const body = dialog.querySelector("tbody");
    dialog.querySelector("th").textContent = side === problems ? "kernel" : "problem";
    body.replaceChildren(...measured.slice(0, 200).map(([value, name]) => {
      const line = document.createElement("tr");
      const [first, second, third] = [0, 1, 2].map(() => line.insertCell());
      const code = document.createElement("code");
      code.textContent = name;
      first.append(code);
      second.textContent = value > levels ? "100.00 %" : percent(value);
      third.innerHTML = `<svg class="bar" aria-hidden="true"><rect width="${Math.max(.5, share[value] * 100).toFixed(1)}%" height="100%"/></svg>`;
      return line;
    }));
    dialog.querySelector(".rest").textContent = measured.length > 200 ? `The first 200 of ${measured.length}.` : "";
    dialog.showModal();
    dialog.scrollTop = 0;
  }
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  for (const side of [kernels, problems]) {
    for (const [row, place] of side.at) {
      row.className = "choice";
      row.tabIndex = 0;
      row.addEventListener("click", () => open(side, place));
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") open(side, place); });
    }
  }
  for (const dot of document.querySelectorAll("#roofline .dot")) {
    const place = problems.at.get(problems.rows[dot.dataset.row]);
    if (place !== undefined) dot.addEventListener("click", () => open(problems, place));
  }
  arrange();
}
