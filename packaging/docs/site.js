// The menu, and the search: `pages` of search.js has [page, its name, anchor, heading, words] for each section.
const menu = document.querySelector("nav details");
const wide = matchMedia("(min-width: 60rem)");
const fold = () => { menu.open = wide.matches; };
wide.addEventListener("change", fold);
fold();

const input = document.getElementById("search");
const found = document.getElementById("found");

// How well a section answers: each word has to occur, at best in the heading, as a whole or at a word's beginning.
function score(section, words) {
  let sum = 0;
  for (const word of words) {
    const inHeading = section.heading.indexOf(word);
    const inText = section.text.indexOf(word);
    if (inHeading < 0 && inText < 0 && !section.name.includes(word)) return 0;
    if (section.heading === word) sum += 40;
    if (inHeading >= 0) sum += 10 + (inHeading === 0 || /\W/.test(section.heading[inHeading - 1]) ? 6 : 0);
    if (section.name.includes(word)) sum += 4;
    if (inText >= 0) sum += 1 + Math.min(4, section.text.split(word).length - 2) / 2;
  }
  // What was changed once is seldom what is looked for.
  return section.page === "CHANGELOG.html" ? sum / 3 : sum;
}

let sections = null;
function search(query) {
  sections ??= pages.map(([page, name, anchor, heading, text]) =>
    ({ page, name: name.toLowerCase(), heading: heading.toLowerCase(), text: text.toLowerCase(), shown: { name, anchor, heading, text } }));
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return sections.map((section) => ({ section, points: score(section, words) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, 12)
    .map(({ section }) => ({ section, at: Math.max(0, section.text.indexOf(words[0]) - 40) }));
}

function show() {
  found.replaceChildren(...search(input.value).map(({ section, at }) => {
    const { name, anchor, heading, text } = section.shown;
    const link = document.createElement("a");
    link.href = root + section.page + (anchor ? `#${anchor}` : "");
    link.setAttribute("role", "option");
    const title = document.createElement("b");
    title.textContent = heading && heading !== name ? `${heading}` : name;
    const place = document.createElement("small");
    place.textContent = heading && heading !== name ? ` ${name}` : "";
    const words = document.createElement("span");
    words.textContent = (at ? "…" : "") + text.slice(at, at + 140);
    link.append(title, place, words);
    return link;
  }));
  if (!found.children.length && input.value.trim()) found.textContent = `Nothing about “${input.value.trim()}”.`;
  found.hidden = !input.value.trim();
}

function step(by) {
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement) + by;
  (at < 0 ? input : links[Math.min(at, links.length - 1)])?.focus();
}

input.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing) {
    input.focus();
  } else if (event.key === "Escape") {
    found.hidden = true;
  } else if (event.key === "ArrowDown" && !found.hidden) {
    step(1);
  } else if (event.key === "ArrowUp" && !found.hidden) {
    step(-1);
  } else if (event.key === "Enter" && document.activeElement === input) {
    found.querySelector("a")?.click();
  } else {
    return;
  }
  event.preventDefault();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) found.hidden = true;
});

// page.html?q=WORDS opens with a search.
const asked = new URLSearchParams(location.search).get("q");
if (asked) {
  input.value = asked;
  show();
}
