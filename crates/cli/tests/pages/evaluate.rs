//! The page of `ckselect evaluate`: what a reader sees are the figures of its JSON.

use ck_select_measurements::digest;

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
    let browser = browser();
    look(browser, &folder.path("in_sample.html"));
}

/// `--against` and `--winners` wrote no pages.
#[test]
fn a_comparison_and_places_of_winners_have_pages() {
    let folder = leap_day();
    folder.write("data.csv", sweep(12, "forward", "bf16"));
    let model = absolute("tests/golden/models/conv_small");
    let compared =
        "--model estimate --arch gfx950 --data data.csv --max-loss mean=1,median=1,p10=1,problem=1";
    folder.good(&format!("evaluate {compared} --against {model} --output new.html --output changes.csv"));
    let page = folder.read("new.html");
    check_alone(&page);
    assert!(
        page.contains("<h1>estimate against conv_<wbr>small</h1>") && page.contains("Accepted."),
        "{page}"
    );
    let changes = folder.read("changes.csv").lines().count() - 1;
    assert!(changes > 0 && page.matches("svg class=\"bar diverging\"").count() == changes, "{page}");
    assert!(page.contains("<dd id=\"problems\">12</dd>") && page.contains("Old: conv_small"), "{page}");

    let pool = absolute("configs/forward_bf16.txt");
    let kernel = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
    let header = "gfx,cu_num,N,C,K,Hi,Wi,Y,X,kernel,us";
    folder.write("won.csv", format!("{header}\ngfx950,256,1,64,64,56,56,1,1,{kernel},10\n"));
    let line = format!("evaluate --model estimate --winners won.csv --pool {pool}");
    let figures = folder.json(&format!("{line} --output won.html"));
    let page = folder.read("won.html");
    check_alone(&page);
    let share = figures["gpus"][0]["winner_first_tenth"].as_f64().unwrap() * 100.0;
    assert!(page.contains(&format!("<tr><td>winner first tenth</td><td>{share:.2} %</td></tr>")), "{page}");
    assert!(page.contains(&digest::of_file(&folder.path("won.csv")).unwrap()), "{page}");
    let browser = browser();
    look(browser, &folder.path("new.html"));
    look(browser, &folder.path("won.html"));
}

#[test]
fn a_browser_shows_the_figures_at_every_width() {
    let browser = browser();
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
