//! `ckselect inspect --memory`: the memory and time that each part of a registry takes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ck_select::model::Model;
use ck_select::pool::Pool;
use ck_select::registry::{NewKernel, Options, Priority, Registry, TuneBudget, UserData};

use crate::error::CliError;
use crate::table::{Cell, Table};

/// Bytes in use according to the allocator. This is glibc's older counter, which every version has and which
/// wraps at 4 GiB; differences below 2 GiB are correct.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(clippy::unnecessary_wraps, reason = "one form for all systems")]
fn allocated() -> Option<u32> {
    /// `struct mallinfo`: blocks with their own mapping (`hblkhd`) are counted separately from those in use
    /// (`uordblks`).
    #[repr(C)]
    struct Info {
        before: [i32; 4],
        hblkhd: i32,
        between: [i32; 2],
        uordblks: i32,
        after: [i32; 2],
    }
    unsafe extern "C" {
        fn mallinfo() -> Info;
    }
    // SAFETY: it only reads the allocator's counters.
    let info = unsafe { mallinfo() };
    let _ = (info.before, info.between, info.after);
    Some((info.hblkhd as u32).wrapping_add(info.uordblks as u32))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn allocated() -> Option<u32> {
    None
}

/// Builds the registry step by step, and measures the memory and time of each step.
pub(super) fn table(load: impl FnOnce() -> Result<Model, CliError>, pool: &Path) -> Result<Table, CliError> {
    let first = allocated()
        .ok_or_else(|| CliError::usage("--memory: needs Linux with glibc, whose allocator keeps counts"))?;
    let pool = Pool::read(pool)?;
    let new =
        |kernel| NewKernel { kernel, priority: Priority::NORMAL, user: UserData::default(), hooks: None };
    let mut table = Table::new(["part", "bytes", "milliseconds"]);
    let (mut last, mut total) = (allocated().unwrap_or(first), 0);
    let mut began = Instant::now();
    let mut step = |part: &str| {
        let took = began.elapsed();
        let now = allocated().unwrap_or(last);
        let bytes = (now.wrapping_sub(last) as i32).max(0) as usize;
        total += bytes;
        table.push(vec![part.into(), bytes.into(), (took.as_secs_f64() * 1e3).into()]);
        last = allocated().unwrap_or(now);
        began = Instant::now();
    };
    let registry = Registry::new(Options { store: Some("off".into()), ..Options::default() })
        .map_err(|error| CliError::failed(error.to_string()))?;
    step("empty, with the decision cache");
    registry
        .add_all(pool.iter().cloned().map(new).collect())
        .map_err(|error| CliError::failed(error.to_string()))?;
    step("kernels");
    let model = Arc::new(load()?);
    step("the model's forests");
    registry.set_model(model, None);
    step("what the model needs of the kernels, and of many the compiled forest");
    registry.prepare();
    step("the compiled forest, of few kernels");
    let _ = registry.tune(&TuneBudget::of(Duration::ZERO));
    step("what tuning counts, without its threads' tables");
    table.push(vec!["in all".into(), total.into(), Cell::Empty]);
    Ok(table)
}
