//! The live example of the documents' first page: what `ckselect rank` prints for a convolution, in a browser.
//!
//! A page writes a question into the memory of the WebAssembly, calls [`rank`], and reads the answer, so no binding
//! is generated:
//!
//! ```text
//! question = GPU '\n' problem '\n' kernels        GPU: the estimate's; empty: the built-in model ranks
//! answer   = { "heading": who ranks and how sure, "rows": [{ "kernel", "time_us", "time", … }] }
//!          | { "error": what is wrong with the question }
//! ```
//!
//! A model is prepared for its kernels once, and again when GPU or kernels change.

use std::cell::RefCell;
use std::error::Error;
use std::sync::Arc;

use ck_select_enumerate::rules::Rules;
use ck_select_model::directory::{EmbeddedModel, Model, Target};
use ck_select_model::estimate::GpuOverride;
use ck_select_model::ranking::{RankScratch, Ranker, words};
use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::problem::Problem;
use serde_json::{Value, json};

static MODEL: EmbeddedModel = include!(concat!(env!("OUT_DIR"), "/model.rs"));

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// The state that is kept from one question to the next.
#[derive(Default)]
struct Page {
    /// The question, then its answer.
    text: Vec<u8>,
    prepared: Option<Prepared>,
}

/// A model that was prepared for kernels.
struct Prepared {
    gpu: String,
    kernels: String,
    ranker: Ranker,
}

/// Memory for a question of so many bytes, until the next call of any function.
#[unsafe(no_mangle)]
pub extern "C" fn question(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.text = vec![0; length];
        page.text.as_mut_ptr()
    })
}

/// Answers the question; returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn rank() -> usize {
    PAGE.with_borrow_mut(|page| {
        let question = std::mem::take(&mut page.text);
        page.text = page.answer(&String::from_utf8_lossy(&question)).to_string().into_bytes();
        page.text.len()
    })
}

/// The answer, until the next call of another function.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    PAGE.with_borrow(|page| page.text.as_ptr())
}

impl Page {
    fn answer(&mut self, question: &str) -> Value {
        let mut lines = question.splitn(3, '\n');
        let [gpu, problem, kernels] = std::array::from_fn(|_| lines.next().unwrap_or_default().trim());
        self.table(gpu, problem, kernels).unwrap_or_else(|error| json!({ "error": error.to_string() }))
    }

    /// The ranking of a problem.
    fn table(&mut self, gpu: &str, problem: &str, kernels: &str) -> Result<Value, Box<dyn Error>> {
        let ranker = self.ranker(gpu, kernels)?;
        let mut problem = Problem::parse(ranker.pool().op(), problem, &ranker.problem_defaults())?;
        if let Some((_, arch)) = ranker.model().device() {
            problem = problem.on(arch);
        }
        let mut scratch = RankScratch::default();
        let ranking = ranker.ranking(problem.checked()?, None, usize::MAX, &mut scratch)?;
        let outlook = ranking.outlook().ok_or("no kernel computes the problem")?;
        let rows = ranking.places().iter().map(|ranked| {
            let estimated = if gpu.is_empty() { None } else { ranking.estimated_us(ranked) };
            let time = estimated.or_else(|| outlook.time_us(ranked.score));
            let (slower, loss) = (outlook.slower(ranked.score), outlook.loss(ranked.score));
            json!({
                "kernel": ranker.name(ranked.index),
                "score": ranked.score,
                "time_us": time,
                "time": time.map(words::microseconds),
                "slower": slower,
                "times": slower.map(words::times),
                "loss": loss,
                "percent": loss.map(words::percent),
            })
        });
        let outside: Vec<&str> = ranking.outside().names(ranker.pool().op()).collect();
        let (heading, rows) = (ranking.heading(&outlook), rows.collect::<Vec<_>>());
        Ok(json!({ "heading": heading, "outside": outside, "rows": rows }))
    }

    /// The model of a question, prepared for its kernels.
    fn ranker(&mut self, gpu: &str, kernels: &str) -> Result<&Ranker, Box<dyn Error>> {
        let is_same = |one: &Prepared| one.gpu == gpu && one.kernels == kernels;
        let prepared = match self.prepared.take().filter(is_same) {
            Some(prepared) => prepared,
            None => Prepared::new(gpu, kernels)?,
        };
        Ok(&self.prepared.insert(prepared).ranker)
    }
}

impl Prepared {
    fn new(gpu: &str, kernels: &str) -> Result<Self, Box<dyn Error>> {
        let pool = Pool::from_bytes("kernels", kernels.as_bytes())?;
        let (model, arch) = if gpu.is_empty() {
            let model = MODEL.load()?;
            let arch = model.spec().arch;
            (model, arch)
        } else {
            let GpuOverride { arch, device } = GpuOverride::named(gpu.parse()?)?;
            (Model::from_estimate(pool.op(), device)?.for_arch(arch), Some(arch))
        };
        let rules = Rules::built_in()?;
        let is_buildable = |kernel: &Kernel| {
            let arch = kernel.kind.arch().or(arch);
            arch.is_none_or(|arch| rules.unbuildable(kernel, arch).is_none())
        };
        let ranker = Ranker::new(Arc::new(model), Arc::new(pool.keeping(is_buildable)?))?;
        Ok(Self { gpu: gpu.to_owned(), kernels: kernels.to_owned(), ranker })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: &str = include_str!("../../../configs/forward_bf16.txt");
    const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";

    fn shown(page: &mut Page, question: &str) -> Vec<String> {
        let answer = page.answer(question);
        let rows = answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let row = |row: &Value| {
            let cell = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            ["time", "times", "percent", "kernel"].map(cell).join("  ")
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn the_first_example_is_the_readmes() {
        let readme = include_str!("../../../README.md");
        let rows = shown(&mut Page::default(), &format!("\n{PROBLEM}\n{KERNELS}"));
        assert_eq!(rows.len(), 30);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in &rows[..3] {
            assert!(words(readme).contains(&words(row)), "{row}");
        }
    }

    #[test]
    fn questions_change_gpu_kernels_and_problem() {
        let mut page = Page::default();
        let by_model = shown(&mut page, &format!("\n{PROBLEM}\n{KERNELS}"));
        // Waves of six kernels are gfx950's alone.
        assert_eq!(shown(&mut page, &format!("gfx942\n{PROBLEM}\n{KERNELS}")).len(), 24);
        let two: String = KERNELS.lines().skip(1).take(2).map(|line| line.to_owned() + "\n").collect();
        assert_eq!(shown(&mut page, &format!("gfx942\n{PROBLEM}\n{two}")).len(), 2);
        let wider = PROBLEM.replace("Hi=28", "Hi=56");
        let other = shown(&mut page, &format!("\n{wider}\n{KERNELS}"));
        assert!(other.len() == 30 && other != by_model);
        assert_eq!(shown(&mut page, &format!("\n{PROBLEM}\n{KERNELS}")), by_model);
    }

    #[test]
    fn a_wrong_question_is_answered_with_what_is_wrong() {
        let mut page = Page::default();
        let mut wrong =
            |question: String| page.answer(&question)["error"].as_str().unwrap_or_default().to_owned();
        assert!(wrong(String::new()).contains("kernel"));
        assert!(wrong(format!("\n{PROBLEM},G=0\n{KERNELS}")).starts_with('G'));
        assert!(wrong(format!("gfx1\n{PROBLEM}\n{KERNELS}")).contains("gfx1"));
        assert!(wrong(format!("\n{PROBLEM}\nno kernel\n")).contains("no kernel"));
        assert!(wrong(format!("\n{PROBLEM},arch=gfx942\n{KERNELS}")).contains("gfx942"));
    }

    #[test]
    fn a_page_writes_a_question_and_reads_its_answer() {
        let text = format!("\n{PROBLEM}\n{KERNELS}");
        // SAFETY: the memory is of that length, and nobody else is called meanwhile.
        unsafe { question(text.len()).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        let length = rank();
        // SAFETY: as above.
        let answer = unsafe { std::slice::from_raw_parts(answer(), length) };
        let answer: Value = serde_json::from_slice(answer).unwrap();
        assert_eq!(answer, Page::default().answer(&text));
    }
}
