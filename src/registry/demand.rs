//! The demand on a registry that tunes: which problems are requested, how often, and which answers were not
//! measured.
//!
//! Each thread counts in its own table, which no other thread writes, so that cores do not share cache lines.
//! A problem whose answer was not measured goes into a queue; the selection that answers it neither waits nor
//! allocates.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use crossbeam_queue::ArrayQueue;

use super::cache::{Key, SLOTS};
use super::index::Choice;
use crate::problem::Problem;
use crate::tuning::search::Verdict;

/// Threads with a table of their own. Later ones share tables and may lose counts, which only reduces the
/// weight of problems.
const TABLES: usize = 128;
/// Maximum number of new problems between two calls; further ones will be seen again later.
const QUEUED: usize = 1024;
/// Maximum number of problems that are remembered.
const MOST_LISTED: usize = 10_000;

/// Counts of one thread, by slot of the decision cache.
#[repr(align(64))]
struct DemandSlots([AtomicU64; SLOTS]);

/// How often each slot's problem was requested.
struct Counters {
    tables: [OnceLock<Box<DemandSlots>>; TABLES],
}

thread_local! {
    /// The thread's table; `usize::MAX` for none yet.
    static TABLE: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl Counters {
    const fn new() -> Self {
        Self { tables: [const { OnceLock::new() }; TABLES] }
    }

    #[inline]
    fn count(&self, slot: usize) {
        let table = match self.tables.get(TABLE.get()).and_then(OnceLock::get) {
            Some(table) => table,
            None => self.first(),
        };
        if let Some(counter) = table.0.get(slot) {
            // No other thread writes it, so no atomic addition is needed.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// The table of a thread that has not counted here yet.
    #[cold]
    fn first(&self) -> &DemandSlots {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if TABLE.get() >= TABLES {
            TABLE.set(NEXT.fetch_add(1, Ordering::Relaxed) % TABLES);
        }
        let make = || Box::new(DemandSlots(std::array::from_fn(|_| AtomicU64::new(0))));
        self.tables[TABLE.get()].get_or_init(make)
    }

    fn sums(&self) -> Vec<u64> {
        let mut sums = vec![0; SLOTS];
        for table in self.tables.iter().filter_map(OnceLock::get) {
            for (sum, counter) in sums.iter_mut().zip(&table.0) {
                *sum += counter.load(Ordering::Relaxed);
            }
        }
        sums
    }
}

/// A problem whose answer was not measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmeasured {
    pub(super) problem: Problem,
    pub(super) key: Key,
    /// Milliseconds of a run, as far as known.
    pub(super) run_ms: f64,
    /// The share of a run's time that an unmeasured answer loses.
    pub(super) share: f64,
}

/// Results so far of measuring one problem, for the kernels of one generation.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    pub(super) generation: u64,
    /// Kernels that have their verdict.
    pub(super) judged: Vec<Choice>,
    pub(super) timings: Vec<Timing>,
    /// Kernels that had no timing when the time of a call that started with them was over, each with that
    /// time.
    pub(super) too_long: Vec<(Choice, Duration)>,
}

impl Progress {
    /// Whether a call with this much time has nothing to learn of a kernel: it has its verdict, or had no
    /// timing in at least half of that time. (Calls with the same budget differ by a little.)
    pub(super) fn is_settled(&self, choice: Choice, time: Duration) -> bool {
        self.judged.contains(&choice)
            || self.gave_up_after(choice).is_some_and(|within| time < within.saturating_mul(2))
    }

    /// Whether a kernel has its verdict, or took longer than the best one would have for as many runs.
    pub(super) fn is_decided(&self, choice: Choice, runs: u32) -> bool {
        let best_ms = self.timings.iter().map(|timing| timing.median_ms).reduce(f64::min);
        let lost = |within: Duration| {
            best_ms.is_some_and(|best_ms| within.as_secs_f64() * 1e3 >= best_ms * f64::from(runs))
        };
        self.judged.contains(&choice) || self.gave_up_after(choice).is_some_and(lost)
    }

    fn gave_up_after(&self, choice: Choice) -> Option<Duration> {
        self.too_long.iter().find(|(of, _)| *of == choice).map(|&(_, within)| within)
    }
}

/// A kernel that was measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) choice: Choice,
    pub(super) median_ms: f64,
    pub(super) cv: f64,
    pub(super) repeats: u32,
}

impl Timing {
    /// `None` unless the verdict has a time.
    pub(super) fn new(choice: Choice, verdict: &Verdict) -> Option<Self> {
        let Verdict::Measured { median_ms, cv, repeats, .. } = *verdict else { return None };
        Some(Self { choice, median_ms, cv: cv.unwrap_or(0.0), repeats })
    }
}

enum Stage {
    /// To be measured, or continued.
    Waiting(Progress),
    /// Not to be measured in this generation: it is being measured, or cannot be.
    Closed(u64),
}

struct ListedProblem {
    unmeasured: Unmeasured,
    stage: Stage,
}

impl ListedProblem {
    fn is_waiting(&self, generation: u64) -> bool {
        !matches!(self.stage, Stage::Closed(closed) if closed == generation)
    }
}

/// A problem that one thread measures. Dropped, it waits for a later call, unless it was closed. Until then
/// it counts as one that cannot be measured, so that a callback that never returns is not called again.
pub(super) struct Claim<'d> {
    demand: &'d Demand,
    pub(super) unmeasured: Unmeasured,
    pub(super) progress: Progress,
    is_closed: bool,
}

impl Claim<'_> {
    /// The problem is not to be measured again in this generation.
    pub(super) const fn close(&mut self) {
        self.is_closed = true;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // A callback that panicked is not called again, either.
        if !self.is_closed && !std::thread::panicking() {
            let progress = std::mem::take(&mut self.progress);
            self.demand.change(&self.unmeasured.problem, |listed| listed.stage = Stage::Waiting(progress));
        }
    }
}

/// The problems that are requested of a registry.
pub(super) struct Demand {
    counters: Counters,
    new: ArrayQueue<Unmeasured>,
    /// The queue was full.
    missed: AtomicBool,
    /// The problems of the list.
    known: ArcSwap<HashSet<Problem>>,
    /// Never held while a callback runs.
    list: Mutex<HashMap<Problem, ListedProblem>>,
}

impl Demand {
    pub(super) fn new() -> Self {
        Self {
            counters: Counters::new(),
            new: ArrayQueue::new(QUEUED),
            missed: AtomicBool::new(false),
            known: ArcSwap::default(),
            list: Mutex::default(),
        }
    }

    #[inline]
    pub(super) fn count(&self, key: &Key) {
        self.counters.count(key.slot());
    }

    /// Notes a problem that was not answered from memory.
    pub(super) fn note(&self, unmeasured: &Unmeasured) {
        if !self.known.load().contains(&unmeasured.problem) && self.new.push(*unmeasured).is_err() {
            self.missed.store(true, Ordering::Relaxed);
        }
    }

    /// Adds the noted problems to the list; true if some were lost and must be seen again.
    pub(super) fn take_in(&self) -> bool {
        // Read before the queue is emptied: what is missed afterwards stays noted as such.
        let missed = self.missed.swap(false, Ordering::Relaxed);
        let mut list = self.list();
        let before = list.len();
        while let Some(unmeasured) = self.new.pop() {
            if list.len() < MOST_LISTED {
                let fresh = || ListedProblem { unmeasured, stage: Stage::Waiting(Progress::default()) };
                list.entry(unmeasured.problem).or_insert_with(fresh);
            }
        }
        if list.len() > before {
            self.know(&list);
        }
        missed && list.len() < MOST_LISTED
    }

    /// The problems to be measured, those with the most to gain first.
    pub(super) fn waiting(&self, generation: u64) -> Vec<Unmeasured> {
        let sums = self.counters.sums();
        let worth = |one: &Unmeasured| {
            one.run_ms * one.share * sums.get(one.key.slot()).map_or(0.0, |&sum| sum as f64)
        };
        let list = self.list();
        let waiting = list.values().filter(|listed| listed.is_waiting(generation));
        let mut waiting: Vec<Unmeasured> = waiting.map(|listed| listed.unmeasured).collect();
        drop(list);
        waiting.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
        waiting
    }

    /// How many problems wait.
    pub(super) fn count_waiting(&self, generation: u64) -> usize {
        self.list().values().filter(|listed| listed.is_waiting(generation)).count()
    }

    /// A problem for this thread to measure; `None` if another one does.
    pub(super) fn claim(&self, unmeasured: &Unmeasured, generation: u64) -> Option<Claim<'_>> {
        let mut list = self.list();
        let listed = list.get_mut(&unmeasured.problem).filter(|listed| listed.is_waiting(generation))?;
        let progress = match std::mem::replace(&mut listed.stage, Stage::Closed(generation)) {
            Stage::Waiting(progress) if progress.generation == generation => progress,
            _ => Progress { generation, ..Progress::default() },
        };
        Some(Claim { demand: self, unmeasured: *unmeasured, progress, is_closed: false })
    }

    fn change(&self, problem: &Problem, change: impl FnOnce(&mut ListedProblem)) {
        if let Some(listed) = self.list().get_mut(problem) {
            change(listed);
        }
    }

    /// Removes problems that now have a winner, each with the generation of that winner. If kernels, models
    /// or options have changed since, the winner may be lost, and requests since then were not noted, because
    /// the problem was known. Such a problem waits again.
    pub(super) fn settle(&self, settled: &[(Unmeasured, u64)], generation: impl FnOnce() -> u64) {
        if settled.is_empty() {
            return;
        }
        let mut list = self.list();
        for (unmeasured, _) in settled {
            list.remove(&unmeasured.problem);
        }
        self.know(&list);
        // Read only now: problems requested from here on are noted.
        let now = generation();
        let passed = settled.iter().filter(|(_, of)| *of != now).map(|(unmeasured, _)| {
            let stage = Stage::Waiting(Progress::default());
            (unmeasured.problem, ListedProblem { unmeasured: *unmeasured, stage })
        });
        let before = list.len();
        list.extend(passed);
        if list.len() > before {
            self.know(&list);
        }
    }

    fn know(&self, list: &HashMap<Problem, ListedProblem>) {
        self.known.store(Arc::new(list.keys().copied().collect()));
    }

    fn list(&self) -> MutexGuard<'_, HashMap<Problem, ListedProblem>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::GemmProblem;
    use crate::registry::index::KernelIndex;

    fn unmeasured(m: i64, run_ms: f64) -> Unmeasured {
        let problem = GemmProblem::new(m, 1, 1).into();
        Unmeasured { problem, key: Key::new(&problem).unwrap(), run_ms, share: 0.5 }
    }

    fn order(demand: &Demand) -> Vec<i64> {
        let extent = |one: &Unmeasured| match one.problem {
            Problem::Gemm(problem) => problem.m,
            _ => 0,
        };
        demand.waiting(1).iter().map(extent).collect()
    }

    #[test]
    fn largest_gain_first() {
        let demand = Demand::new();
        for (m, stake, times) in [(1, 1.0, 5), (2, 4.0, 2), (3, 0.5, 4)] {
            demand.note(&unmeasured(m, stake));
            (0..times).for_each(|_| demand.count(&unmeasured(m, stake).key));
        }
        assert_eq!(order(&demand), [] as [i64; 0], "not taken in yet");
        assert!(!demand.take_in());
        assert_eq!(order(&demand), [2, 1, 3]);
        // Known problems are not queued again.
        demand.note(&unmeasured(1, 1.0));
        assert!(demand.new.is_empty());
        (0..20).for_each(|_| demand.count(&unmeasured(3, 0.5).key));
        assert_eq!(order(&demand), [3, 2, 1]);
        demand.settle(&[(unmeasured(2, 4.0), 1)], || 2);
        assert_eq!(demand.count_waiting(2), 3, "its winner was of a generation that has passed");
        demand.settle(&[(unmeasured(2, 4.0), 1)], || 1);
        assert_eq!((order(&demand), demand.count_waiting(1)), (vec![3, 1], 2));
        demand.note(&unmeasured(2, 1.0));
        assert_eq!(demand.new.len(), 1, "a settled problem may come back");
    }

    /// Short calls may have given up a kernel that is faster than the best one so far.
    #[test]
    fn a_kernel_has_lost_only_if_the_best_one_would_have_had_a_timing() {
        let choice = |kernel| Choice { kernel: KernelIndex::new(kernel), split_k: 1 };
        let ms = Duration::from_millis;
        let mut progress = Progress { too_long: vec![(choice(0), ms(10))], ..Progress::default() };
        let settled = |progress: &Progress, time| progress.is_settled(choice(0), ms(time));
        assert!(settled(&progress, 19) && !settled(&progress, 20), "a call with twice the time tries again");
        assert!(!progress.is_decided(choice(0), 4), "nothing has a time");
        progress.timings.push(Timing { choice: choice(1), median_ms: 2.5, cv: 0.0, repeats: 2 });
        assert!(progress.is_decided(choice(0), 4) && !progress.is_decided(choice(0), 5));
        assert!(!progress.is_decided(choice(2), 1));
    }

    #[test]
    fn a_problem_is_measured_by_one_thread_at_a_time_and_continued_later() {
        let demand = Demand::new();
        let one = unmeasured(1, 1.0);
        demand.note(&one);
        demand.take_in();
        let mut claim = demand.claim(&one, 7).unwrap();
        assert!(demand.claim(&one, 7).is_none() && demand.waiting(7).is_empty());
        let choice = Choice { kernel: KernelIndex::new(3), split_k: 1 };
        claim.progress.judged.push(choice);
        drop(claim);
        let mut claim = demand.claim(&one, 7).unwrap();
        assert_eq!(claim.progress.judged, [choice]);
        claim.close();
        drop(claim);
        // In another generation the kernels differ, so a problem that could not be measured is tried again.
        assert_eq!((demand.count_waiting(7), demand.count_waiting(8)), (0, 1));
        let fresh = demand.claim(&one, 8).unwrap();
        assert_eq!((fresh.progress.generation, fresh.progress.judged.len()), (8, 0));
        // Nor is one again whose callback panicked.
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _claim = fresh;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err() && demand.count_waiting(8) == 0);
    }

    #[test]
    fn problems_beyond_the_queue_are_reported_as_missed() {
        let demand = Demand::new();
        for m in 1..=QUEUED as i64 + 1 {
            demand.note(&unmeasured(m, 1.0));
        }
        assert!(demand.take_in());
        assert_eq!(demand.count_waiting(1), QUEUED);
        demand.note(&unmeasured(QUEUED as i64 + 1, 1.0));
        assert!(!demand.take_in());
        assert_eq!(demand.count_waiting(1), QUEUED + 1);
    }

    #[test]
    fn threads_count_in_tables_of_their_own() {
        let demand = Demand::new();
        let key = unmeasured(1, 1.0).key;
        let (threads, each) = (8, if cfg!(miri) { 50 } else { 10_000 });
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..each).for_each(|_| demand.count(&key)));
            }
        });
        assert_eq!(demand.counters.sums()[key.slot()], threads * each);
        let tables: Vec<_> = demand.counters.tables.iter().filter_map(OnceLock::get).collect();
        assert_eq!(tables.len(), threads as usize);
        assert!(tables.iter().all(|table| std::ptr::from_ref(&***table).addr().is_multiple_of(64)));
    }
}
