//! A headless browser, and who sits in front of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The first of some browsers that is there.
pub(crate) fn browser() -> &'static str {
    let there = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = ["chromium-headless-shell", "chromium", "google-chrome"].into_iter().find(there);
    found.expect("a headless Chromium, which `make system-tools` installs")
}

/// Opens a page, which must leave the console empty; what the browser prints comes back.
pub(crate) fn open(browser: &str, page: &Path, more: &[&str]) -> String {
    let profile = TempDir::new().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,2400"])
        .arg("--enable-logging=stderr")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let console: Vec<&str> = said.lines().filter(|line| line.contains(":CONSOLE:")).collect();
    assert!(console.is_empty(), "{}: {console:#?}", page.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is wrong with a page for someone who looks at it, with everything unfolded.
const LOOK: &str = include_str!("look.js");

/// Looks at a page on a phone, on a laptop and on a wide screen.
pub(crate) fn look(browser: &str, html: &Path) {
    for width in [400, 1280, 1600] {
        assert_eq!(drive(browser, html, width, LOOK), json!([]), "{} at {width} px", html.display());
    }
}

/// A frame around a page, and a script that does with it what a person would do.
const FRAME: &str = r#"<!doctype html><meta charset="utf-8"><body style="margin: 0"><iframe id="frame" style="width: WIDTHpx; height: 900px; border: 0" srcdoc="PAGE"></iframe>
<pre id="found"></pre><script>
onload = async () => {
  const window = document.getElementById("frame").contentWindow;
  const page = window.document;
  const until = async (seen) => {
    for (let turn = 0; turn < 400 && !seen(); turn++) await new Promise((done) => setTimeout(done, 25));
  };
  const type = (input, text) => { input.value = text; input.dispatchEvent(new window.Event("input")); };
  const press = (at, key) => at.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true }));
  const point = (at, kind, x, y) => {
    const box = at.getBoundingClientRect();
    const place = { clientX: box.left + (x ?? box.width / 2), clientY: box.top + (y ?? box.height / 2), bubbles: true };
    at.dispatchEvent(new window.PointerEvent(kind, place));
    return page.querySelector(".tip").textContent;
  };
  // A copy that may be read as often as one likes.
  const pixels = (canvas) => {
    const { width, height } = canvas;
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return context;
  };
  let found;
  try { found = await (async () => { SCRIPT })(); } catch (error) { found = { error: String(error) }; }
  document.getElementById("found").textContent = JSON.stringify(found);
};
</script>"#;

/// Opens a page in a window of some width and runs a script on it; what it returns comes back.
pub(crate) fn drive(browser: &str, html: &Path, width: u32, script: &str) -> Value {
    let page = fs::read_to_string(html).unwrap();
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let folder = TempDir::new().unwrap();
    let frame = folder.path().join("frame.html");
    let text = FRAME.replace("WIDTH", &width.to_string()).replace("SCRIPT", script);
    fs::write(&frame, text.replace("PAGE", &page)).unwrap();
    let dom = open(browser, &frame, &["--dump-dom", "--virtual-time-budget=30000"]);
    let (_, found) = dom.split_once("<pre id=\"found\">").unwrap();
    let found = found.split_once("</pre>").unwrap().0;
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found:?}"))
}
