//! The map of kernels and problems on a page: tables describe its rows and columns, and a script draws it
//! from compressed bytes.

use std::io::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::html::Page;
use super::text::count;
use crate::candidates::counted_as;
use crate::survey::Survey;

/// Maximum numbers of kernels and of cells that are drawn.
const KERNELS: usize = 5000;
const CELLS: usize = 5_000_000;
/// Up to this many cells, each has two bytes, which are as precise as tables.
const EXACT: usize = 250_000;
/// Maximum size of the cells after compression, before base64 adds a third.
const BYTES: usize = 2_700_000;
/// Steps from zero to the fastest kernel's speed: exact ones, and those of a byte from fine to coarse. The
/// latter are equal steps of the square root of the loss, so that those near the fastest are the finest.
const EXACT_LEVELS: u16 = 10_000;
const LEVELS: [u16; 4] = [200, 100, 50, 25];

/// The kernels and problems that a page shows: the rows of its tables, and of the map.
pub(super) struct Excerpt {
    /// The shown kernels, those that win most often first.
    pub(super) kernels: Vec<u32>,
    /// The shown trials, in the order of the measurements.
    pub(super) trials: Vec<u32>,
}

impl Excerpt {
    pub(super) fn new(survey: &Survey) -> Self {
        let mut kernels: Vec<u32> = (0..).take(survey.kernels.len()).collect();
        let figures = |kernel: u32| &survey.kernels[kernel as usize];
        let mean = |kernel: u32| if figures(kernel).ran > 0 { figures(kernel).mean } else { -1.0 };
        kernels.sort_by(|&a, &b| {
            figures(b).wins.cmp(&figures(a).wins).then(mean(b).total_cmp(&mean(a))).then(a.cmp(&b))
        });
        kernels.truncate(KERNELS);
        let most = (CELLS / kernels.len().max(1)).clamp(1, KERNELS);
        let all = survey.trials.len();
        let shown = most.min(all);
        // Evenly spaced.
        let trials = (0..shown).map(|index| (index * all / shown) as u32).collect();
        Self { kernels, trials }
    }

    /// A note on what the tables and the map leave out, if anything.
    pub(super) fn left_out(&self, survey: &Survey) -> Option<String> {
        let kernels = survey.kernels.len() - self.kernels.len();
        let trials = survey.trials.len() - self.trials.len();
        (kernels + trials > 0).then(|| {
            format!(
                "The page shows {} of {} kernels, those that win first, and {} of {} {}, evenly \
                 chosen; all figures beside the map and the tables are of all.",
                count(self.kernels.len()),
                count(survey.kernels.len()),
                count(self.trials.len()),
                count(survey.trials.len()),
                counted_as(&survey.trials)
            )
        })
    }

    /// Writes the map. The tables `kernels` and `problems` must be on the page.
    pub(super) fn write(&self, page: &mut Page, survey: &Survey) {
        let (levels, wide, packed) = self.packed(survey);
        let step = match levels {
            EXACT_LEVELS => String::new(),
            levels => format!(
                " Because there are so many cells, speeds are rounded to {levels} steps, \
                 which are finest near the fastest."
            ),
        };
        page.text(&format!(
            "Each of the {} rows is a kernel, each of the {} columns a problem, as the tables below are \
             sorted and filtered.{step} Point at a cell for its figures, click it for the problem's ranking.",
            count(self.kernels.len()),
            count(self.trials.len())
        ));
        page.raw(TOOLS);
        let wide = if wide { " data-wide=\"1\"" } else { "" };
        page.raw(&format!(
            "<div class=\"map\" id=\"map\" tabindex=\"0\" role=\"application\" aria-label=\"efficiency of {} \
             kernels on {} problems; arrow keys go from cell to cell, Enter opens the problem; the tables \
             below have the same as text\" data-levels=\"{levels}\"{wide}><div><canvas></canvas></div>\
             </div>\n\
             <output class=\"said\" id=\"said\" aria-live=\"polite\"></output>\n\
             <noscript><p>Without scripts the map stays empty; \
             the tables below have what it shows.</p></noscript>\n",
            self.kernels.len(),
            self.trials.len()
        ));
        page.raw("<script type=\"application/octet-stream\" id=\"cells\">");
        page.raw(&BASE64_STANDARD.encode(&packed));
        page.raw("</script>\n");
        page.raw(DIALOG);
    }

    /// The cells, kernel by kernel: 0 if nothing was measured, otherwise the step plus 1. Also returns the
    /// number of steps, and whether a cell has two bytes.
    fn packed(&self, survey: &Survey) -> (u16, bool, Vec<u8>) {
        let across = self.trials.len();
        let mut row_of = vec![usize::MAX; survey.kernels.len()];
        for (row, &kernel) in self.kernels.iter().enumerate() {
            row_of[kernel as usize] = row;
        }
        let cells = |levels: u16| {
            let mut cells = vec![0_u16; across * self.kernels.len()];
            for (column, &number) in self.trials.iter().enumerate() {
                let trial = &survey.trials[number as usize];
                for (index, candidate) in trial.candidates.iter().enumerate() {
                    let row = row_of[candidate.kernel as usize];
                    if row == usize::MAX {
                        continue;
                    }
                    // Only the fastest has the last step, so that nearly as fast kernels can be distinguished
                    // from it.
                    let efficiency = trial.efficiency(index);
                    let along =
                        if levels == EXACT_LEVELS { efficiency } else { 1.0 - (1.0 - efficiency).sqrt() };
                    let step = (along * f64::from(levels)).round() as u16;
                    let step = if index == trial.oracle { levels } else { step.min(levels - 1) };
                    cells[row * across + column] = step + 1;
                }
            }
            cells
        };
        if across * self.kernels.len() <= EXACT {
            let bytes: Vec<u8> = cells(EXACT_LEVELS).iter().flat_map(|cell| cell.to_le_bytes()).collect();
            return (EXACT_LEVELS, true, packed(&bytes));
        }
        let mut best = (0, false, Vec::new());
        for levels in LEVELS {
            let bytes: Vec<u8> = cells(levels).iter().map(|&cell| cell as u8).collect();
            best = (levels, false, packed(&bytes));
            if best.2.len() <= BYTES {
                break;
            }
        }
        best
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let written = encoder.write_all(bytes);
    debug_assert!(written.is_ok());
    encoder.finish().unwrap_or_default()
}

const TOOLS: &str = "<div class=\"tools\">\n\
    <span><button type=\"button\" id=\"zoom-fit\">fit</button> <button type=\"button\" id=\"zoom-out\" \
    aria-label=\"smaller\">−</button> <button type=\"button\" id=\"zoom-in\" \
    aria-label=\"larger\">+</button></span>\n\
    <span class=\"legend\">0 % <i></i> 100 % of the fastest</span>\n\
    <span class=\"legend\"><i class=\"fastest\"></i> the fastest</span>\n\
    <span class=\"legend\"><i class=\"empty\"></i> not measured, or failed</span>\n</div>\n";

const DIALOG: &str = "<dialog id=\"one\" aria-labelledby=\"one-title\"><form method=\"dialog\">\
    <button>close</button></form><h2 id=\"one-title\"></h2><p></p><div class=\"table\" tabindex=\"0\"><table>\
    <thead><tr><th scope=\"col\"></th><th scope=\"col\">efficiency</th><th scope=\"col\"></th></tr></thead>\
    <tbody></tbody></table></div><p class=\"rest\"></p></dialog>\n";
