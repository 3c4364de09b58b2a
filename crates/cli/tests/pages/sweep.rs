//! The page of a sweep, sorted, filtered, pointed at and clicked.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::browser::{browser, drive, look, open};
use crate::common::{Folder, kernels};
use crate::{check_alone, leap_day};

/// Channels of the problems.
const CHANNELS: [usize; 12] = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Speeds of no particular order.
fn tflops(kernel: usize, channels: usize) -> usize {
    20 + (kernel * 37 + channels * 11) % 101
}

/// A log of thirty kernels on twelve problems, of which some failed.
fn sweep() -> String {
    let mut text = "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n".to_owned();
    for (number, channels) in CHANNELS.into_iter().enumerate() {
        for (kernel, name) in kernels().iter().enumerate() {
            let problem = format!("{name},{number},4,{channels},64,28,28,3,3");
            if kernel == 7 && number % 2 == 0 {
                let why = "at /a/long/path/of/the/library/libkernels_grouped_conv_forward_bf16.so ".repeat(4);
                writeln!(text, "{problem},N/A,0.0,0,\"crash: signal 11, <b>SIGSEGV</b> {why}\"").unwrap();
            } else {
                let tflops = tflops(kernel, channels);
                writeln!(text, "{problem},0.5,{tflops},-1,").unwrap();
            }
        }
    }
    text
}

/// The page of `report` on a table, as sweep.html. The table's name would be a tag.
fn report(table: &str) -> Folder {
    let folder = leap_day();
    folder.write("<i>sweep.csv", table);
    folder.good("report <i>sweep.csv --arch gfx942 --output sweep.html");
    folder
}

#[test]
fn names_cannot_break_out_and_nothing_is_fetched() {
    let text = report(&sweep()).read("sweep.html");
    assert!(text.contains("<h1>&lt;i&gt;sweep.csv: what is in the sweep</h1>"));
    assert!(text.contains("crash: signal 11, &lt;b&gt;SIGSEGV&lt;/") && !text.contains("<b>SIGSEGV"));
    check_alone(&text);
    assert!(text.contains("<time datetime=\"2000-02-29T00:00:00Z\">"));
}

/// What a reader does, and what is seen of it.
const READER: &str = r##"
        await until(() => page.querySelector("tr.choice"));
        const kernels = page.getElementById("kernels-table");
        const column = (table, place) => [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[place].textContent);
        const found = { wins: column(kernels, 4).map(Number) };
        const mean = kernels.tHead.rows[0].cells[6].querySelector("button");
        mean.click();
        found.down = [mean.closest("th").getAttribute("aria-sort"), column(kernels, 6).map(parseFloat)];
        mean.click();
        found.up = [mean.closest("th").getAttribute("aria-sort"), column(kernels, 6).map(parseFloat)];

        const canvas = page.querySelector("#map canvas");
        const space = page.querySelector("#map > div");
        found.tall = space.offsetHeight;
        const [x, y] = [space.offsetWidth - 5, 5];
        found.tip = point(canvas, "pointermove", x, y).split("\n");
        found.gone = (point(canvas, "pointerleave", x, y), page.querySelector(".tip").hidden);
        const seen = pixels(canvas);
        const colour = (x, y) => [...seen.getImageData(x, y, 1, 1).data];
        found.colours = new Set(Array.from({ length: 300 }, (_, at) => colour(space.offsetWidth - 1 - at, 9).join())).size;

        const filter = kernels.closest(".table").previousElementSibling;
        type(filter.querySelector("input"), "compv4 64x64x64");
        found.filtered = [filter.querySelector("output").textContent, column(kernels, 1), space.offsetHeight];
        type(filter.querySelector("input"), "no such words");
        found.none = filter.querySelector("output").textContent;
        type(filter.querySelector("input"), "");

        const problems = page.getElementById("problems-table");
        const dialog = page.getElementById("one");
        problems.tBodies[0].rows[3].click();
        found.opened = [dialog.open, dialog.querySelector("h2").textContent, dialog.querySelector("p").textContent];
        found.ranking = [...dialog.querySelectorAll("tbody tr")].map((row) => [row.cells[0].textContent, row.cells[1].textContent]);
        dialog.querySelector("button").click();
        await until(() => !dialog.open);
        found.closed = !dialog.open;
        canvas.dispatchEvent(new window.MouseEvent("click", { clientX: canvas.getBoundingClientRect().left + x, clientY: canvas.getBoundingClientRect().top + y, bubbles: true }));
        found.clicked = dialog.querySelector("h2").textContent;
        dialog.close();
        kernels.tBodies[0].rows[0].dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        found.kernel = [dialog.open, dialog.querySelectorAll("tbody tr").length];
        dialog.close();

        press(page.getElementById("map"), "ArrowDown");
        press(page.getElementById("map"), "ArrowDown");
        found.said = page.getElementById("said").textContent.split("\n").length;

        const dots = [...page.querySelectorAll("#roofline .dot")];
        found.dot = [dots.length, point(dots[2], "pointermove"), dots[2].getAttribute("aria-label")];
        dots[2].dispatchEvent(new window.MouseEvent("click", { bubbles: true }));
        found.of_dot = [dialog.open, dialog.querySelector("h2").textContent];
        return found;
"##;

#[test]
fn a_reader_sorts_filters_points_and_clicks() {
    let browser = browser();
    let found = drive(browser, &report(&sweep()).path("sweep.html"), 1000, READER);
    assert_eq!(found["error"], Value::Null, "{found}");
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let wins = numbers(&found["wins"]);
    assert!(
        wins.len() == 30 && wins.iter().sum::<f64>() == 12.0 && wins.is_sorted_by(|a, b| a >= b),
        "{wins:?}"
    );
    let (down, up) = (numbers(&found["down"][1]), numbers(&found["up"][1]));
    assert!(down.is_sorted_by(|a, b| a >= b) && up.is_sorted() && up[0] < up[29], "{down:?} {up:?}");
    assert_eq!([&found["down"][0], &found["up"][0]], ["descending", "ascending"]);

    // What the pointer is told is what was measured.
    let name = kernels();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tip: Vec<String> = found["tip"].as_array().unwrap().iter().map(text).collect();
    let kernel = name.iter().position(|one| *one == tip[1]).unwrap();
    let channels: usize =
        tip[2].split(' ').find_map(|pair| pair.strip_prefix("C=")).unwrap().parse().unwrap();
    let number = CHANNELS.iter().position(|one| *one == channels).unwrap();
    let ran = |kernel: usize| kernel != 7 || number % 2 == 1;
    let best = (0..30).filter(|&kernel| ran(kernel)).map(|kernel| tflops(kernel, channels)).max().unwrap();
    let expected = match tflops(kernel, channels) {
        _ if !ran(kernel) => "not measured, or failed".to_owned(),
        speed if speed == best => "the fastest".to_owned(),
        speed => format!("{:.2} % of the fastest", speed as f64 / best as f64 * 100.0),
    };
    assert_eq!(tip[0], expected, "{tip:?}");
    assert_eq!((&found["gone"], &found["clicked"]), (&json!(true), &json!(tip[2])));
    assert!(found["colours"].as_u64().unwrap() > 5, "{}", found["colours"]);

    // One kernel is left, and the map is as low as one row.
    assert_eq!(found["filtered"][0], "1 of 30");
    assert_eq!(found["filtered"][1], json!(["64x64x64"]));
    assert!(found["filtered"][2].as_f64().unwrap() * 10.0 < found["tall"].as_f64().unwrap(), "{found}");
    assert_eq!(found["none"], "0 of 30");

    assert_eq!(found["opened"][0], true);
    assert_eq!(found["opened"][1], "N=4 C=32 K=64 Hi=28 Wi=28 Y=3 X=3");
    assert!(text(&found["opened"][2]).starts_with("kernels: 30 · within 5 %: "), "{}", found["opened"]);
    let ranking = found["ranking"].as_array().unwrap();
    let fastest = (0..30).max_by_key(|&kernel| (tflops(kernel, 32), std::cmp::Reverse(kernel))).unwrap();
    assert_eq!((ranking.len(), &ranking[0]), (30, &json!([name[fastest], "100.00 %"])));
    assert_eq!(found["closed"], true);
    assert_eq!(found["kernel"][0], true);
    assert!([6, 12].contains(&found["kernel"][1].as_u64().unwrap()), "{}", found["kernel"]);
    assert_eq!(found["said"], 3);

    assert_eq!(found["dot"][0], 12);
    assert_eq!(found["dot"][1], found["dot"][2]);
    let dot = text(&found["dot"][1]);
    assert!(dot.starts_with("N=4 C=24 ") && dot.contains(" TFLOPS at "), "{dot}");
    assert_eq!(found["of_dot"], json!([true, "N=4 C=24 K=64 Hi=28 Wi=28 Y=3 X=3"]));
}

#[test]
fn a_page_is_whole_at_every_width_and_on_paper() {
    let browser = browser();
    let folder = report(&sweep());
    let html = folder.path("sweep.html");
    look(browser, &html);

    // As printed, and as drawn: neither is a page of one colour.
    for (kind, name, least) in
        [("--screenshot=", "page.png", 60_000), ("--print-to-pdf=", "page.pdf", 40_000)]
    {
        let file = folder.path(name);
        open(browser, &html, &[&format!("{kind}{}", file.display()), "--virtual-time-budget=5000"]);
        assert!(fs::metadata(&file).unwrap().len() > least, "{kind}");
    }
}

/// Rows of a map once had no labels from 48 kernels on (00c34c59).
#[test]
fn the_map_of_two_hundred_kernels_has_labels() {
    let browser = browser();
    let mut text = "kernel,N,C,K,Hi,Wi,Y,X,latency_ms,tflops\n".to_owned();
    for kernel in 0..200 {
        let (m, n, k) = (16 << (kernel % 5), 16 << (kernel / 5 % 5), 16 << (kernel / 25));
        for (number, channels) in CHANNELS.into_iter().enumerate() {
            let speed = 20 + (kernel * 37 + number * 11) % 101;
            writeln!(
                text,
                "grouped_conv_forward_bf16_2d_{m}x{n}x{k}_mem,4,{channels},64,28,28,3,3,0.5,{speed}"
            )
            .unwrap();
        }
    }
    let folder = report(&text);
    assert!(folder.read("sweep.html").contains("Each of the 200 rows is a kernel"));
    look(browser, &folder.path("sweep.html"));
}

/// One place of the page once said 141 problems and another 142 (00c34c59).
#[test]
fn a_problem_that_was_measured_again_is_counted_as_two_runs() {
    let mut text = "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n".to_owned();
    // The first problem twice more, and one on which nothing ran.
    for (number, channels) in [64, 96, 64, 64, 128].into_iter().enumerate() {
        for (kernel, name) in kernels().iter().take(3).enumerate() {
            let result = if channels == 128 {
                "N/A,0.0,0,crash".to_owned()
            } else {
                format!("0.5,{},-1,", 20 + kernel)
            };
            writeln!(text, "{name},{number},4,{channels},64,28,28,3,3,{result}").unwrap();
        }
    }
    let page = report(&text).read("sweep.html");
    for said in [
        "<dd id=\"num_problems\">3</dd>",
        "<dd id=\"num_runs\">4</dd>",
        "1 of 3 kernels are the fastest on at least one of 4 runs of problems.",
        "2 problems have 4 runs. Problems without any row that has a time: 1.",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

/// The map once looked for a table that was not there, and never drew (00c34c59).
#[test]
fn a_sweep_that_runs_has_a_page() {
    let folder = Folder::inside();
    let names = kernels();
    let [first, second] = [&names[0], &names[1]];
    let log = format!(
        "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n\
         {first},0,4,64,64,28,28,3,3,0.5,50.0,-1,\n{second},0,4,64,64,28,28,3,3,0.6,40.0,-1,\n\
         {first},1,4,96,64,28,28,3,3,0.5,50.0,-1,\n"
    );
    folder.write("sweep.csv", log);
    let meta = json!({"plan": {"pairs": 30}, "sessions": [{"began": 1_700_000_000, "ended": null}]});
    folder.write("sweep.csv.meta.json", meta.to_string());
    folder.good("report sweep.csv --output page.html");
    assert!(folder.read("page.html").contains("killed, or runs"));
    look(browser(), &folder.path("page.html"));
}
