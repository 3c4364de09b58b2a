"use strict";
// Tables sort by a column and filter by words; charts say what is pointed at.
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
    if (rows.length <= 8 || table.className === "grid") continue;
    const box = table.closest(".table");
    const bar = element("div", table, { className: "filter" });
    const input = element("input", table, { type: "search", placeholder: "filter: words, all of which a row has" });
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

  // What a chart's part says comes at once and where the pointer is, instead of late and somewhere.
  const tip = element("div", document.body, { className: "tip", hidden: true });
  document.body.append(tip);
  window.tell = (said, event) => {
    tip.hidden = !said;
    if (!said) return;
    tip.textContent = said;
    const { clientWidth, clientHeight } = document.documentElement;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, clientWidth - tip.offsetWidth - 4))}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + tip.offsetHeight < clientHeight ? below : Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
  };
  for (const title of document.querySelectorAll("svg title")) {
    const part = title.parentElement;
    part.dataset.says = title.textContent;
    part.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  for (const chart of document.querySelectorAll("svg")) {
    chart.addEventListener("pointermove", (event) => window.tell(event.target.dataset.says, event));
    chart.addEventListener("pointerdown", (event) => window.tell(event.target.dataset.says, event));
    chart.addEventListener("pointerleave", (event) => window.tell("", event));
  }
})();
