//! The page of `ckselect evaluate`: what a reader sees are the figures of its JSON.

use ck_select_data::digest;

use crate::browser::{browser, look, open};
use crate::common::{Folder, root, sweep};
use crate::{absolute, check_alone, leap_day};

/// The report of `evaluate` on the data; the model's long path makes a long title.
fn report() -> Folder {
    let folder = leap_day();
    folder.write("data.csv", sweep(3, "forward", "bf16"));
    let model = absolute("tests/golden/models/conv_small");
    folder.good(&format!(
        "evaluate --model {model} --data data.csv --output report.html --output figures.json"
    ));
    folder
}

#[test]
fn a_page_says_what_it_was_made_of() {
    let folder = report();
    let page = folder.read("report.html");
    check_alone(&page);
    let time = "<time datetime=\"2000-02-29T00:00:00Z\">2000-02-29 00:00:00 UTC</time>";
    assert!(page.contains(&format!("Made on {time} by ck-select {}.", env!("CARGO_PKG_VERSION"))));
    let model = root().join("tests/golden/models/conv_small");
    for file in ["feature_spec.json", "model_tflops.lgbm.gz"] {
        let digest = digest::of_file(&model.join(file)).unwrap();
        assert!(
            page.contains(&format!("<td>{file}</td><td><code class=\"hash\">{digest}</code></td>")),
            "{file}"
        );
    }
    let digest = digest::of_file(&folder.path("data.csv")).unwrap();
    assert!(page.contains(&format!("<td><code class=\"hash\">{digest}</code></td>")));
}

/// The warning once was the last column of a table, beyond the edge of a screen of 1,280 pixels (00c34c59).
#[test]
fn figures_on_training_data_come_after_a_warning() {
    let folder = Folder::new();
    let model = "models/grouped_conv_forward_bf16_sm90";
    folder
        .good(&format!("evaluate --model {model} --data data/h200/forward.parquet --output @in_sample.html"));
    let page = folder.read("in_sample.html");
    let [warning, figures] = ["class=\"warning\"", "class=\"figures\""].map(|part| page.find(part).unwrap());
    assert!(warning < figures && page[warning..figures].contains("The model was trained on "), "{page}");
    // Each kind of convolution has its figures.
    for kind in ["layout", "filter", "stride", "channels of a group", "groups"] {
        assert!(
            page.contains(&format!("<th scope=\"col\">{kind}</th><th scope=\"col\">problems</th>")),
            "{kind}"
        );
    }
    let Some(browser) = browser() else { return };
    look(browser, &folder.path("in_sample.html"));
}

#[test]
fn a_browser_shows_the_figures_at_every_width() {
    let Some(browser) = browser() else { return };
    let folder = report();
    let html = folder.path("report.html");
    let figures = folder.read_json("figures.json");
    let global = &figures["global_metrics"];

    let page = open(browser, &html, &["--dump-dom"]);
    let shown = |id: &str| -> String {
        let (_, rest) = page.split_once(&format!("<dd id=\"{id}\">")).unwrap();
        rest.split_once("</dd>").unwrap().0.to_owned()
    };
    for id in ["efficiency_mean", "efficiency_p50", "efficiency_p10", "efficiency_min", "best_of_top3_mean"] {
        assert_eq!(shown(id), format!("{:.2} %", global[id].as_f64().unwrap() * 100.0), "{id}");
    }
    assert_eq!((shown("num_shapes"), shown("num_rows")), ("3".to_owned(), "18".to_owned()));
    assert_eq!(page.matches("<figure class=\"chart\">").count(), 2);

    look(browser, &html);
}
