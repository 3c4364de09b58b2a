//! `libck_select_lgbm.so` against the real LightGBM: the same C calls must have the same results, bit for
//! bit.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, ptr};

use ck_select::forest::Forest;
use ck_select_parity::{Booster, golden, synthetic};
use lightgbm3_sys as sys;

type Create = unsafe extern "C" fn(*const c_char, *mut c_int, *mut *mut c_void) -> c_int;
type Predict = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    c_int,
    i32,
    i32,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_char,
    *mut i64,
    *mut f64,
) -> c_int;
type PredictOne = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_char,
    *mut i64,
    *mut f64,
) -> c_int;
type Ask = unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;

/// The functions of one of the two libraries.
#[derive(Clone, Copy)]
struct Api {
    create: Create,
    load: Create,
    predict: Predict,
    predict_one: PredictOne,
    features: Ask,
    classes: Ask,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
    last_error: unsafe extern "C" fn() -> *const c_char,
}

const THEIRS: Api = Api {
    create: sys::LGBM_BoosterCreateFromModelfile,
    load: sys::LGBM_BoosterLoadModelFromString,
    predict: sys::LGBM_BoosterPredictForMat,
    predict_one: sys::LGBM_BoosterPredictForMatSingleRow,
    features: sys::LGBM_BoosterGetNumFeature,
    classes: sys::LGBM_BoosterGetNumClasses,
    free: sys::LGBM_BoosterFree,
    last_error: sys::LGBM_GetLastError,
};

/// Our functions. The library stays loaded until the process ends.
fn ours() -> Api {
    let path = std::env::current_exe().unwrap().with_file_name("libck_select_lgbm.so");
    // SAFETY: the library runs nothing when it is loaded, and each function has its type.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(path).unwrap()));
        Api {
            create: *library.get(b"LGBM_BoosterCreateFromModelfile\0").unwrap(),
            load: *library.get(b"LGBM_BoosterLoadModelFromString\0").unwrap(),
            predict: *library.get(b"LGBM_BoosterPredictForMat\0").unwrap(),
            predict_one: *library.get(b"LGBM_BoosterPredictForMatSingleRow\0").unwrap(),
            features: *library.get(b"LGBM_BoosterGetNumFeature\0").unwrap(),
            classes: *library.get(b"LGBM_BoosterGetNumClasses\0").unwrap(),
            free: *library.get(b"LGBM_BoosterFree\0").unwrap(),
            last_error: *library.get(b"LGBM_GetLastError\0").unwrap(),
        }
    }
}

impl Api {
    fn last_error(self) -> String {
        // SAFETY: a text that is valid until this thread's next error.
        unsafe { CStr::from_ptr((self.last_error)()) }.to_string_lossy().into_owned()
    }

    fn number(self, ask: Ask, handle: *mut c_void) -> c_int {
        let mut number = -1;
        // SAFETY: a live handle and a place to write to.
        assert_eq!(unsafe { ask(handle, &raw mut number) }, 0, "{}", self.last_error());
        number
    }
}

/// A model in one of the libraries.
struct Model {
    api: Api,
    handle: *mut c_void,
    iterations: c_int,
}

impl Model {
    fn new(api: Api, how: Create, argument: &str) -> Model {
        let argument = CString::new(argument).unwrap();
        let (mut iterations, mut handle) = (-1, ptr::null_mut());
        // SAFETY: a C string and two places to write to.
        let status = unsafe { how(argument.as_ptr(), &raw mut iterations, &raw mut handle) };
        assert_eq!(status, 0, "{}", api.last_error());
        Model { api, handle, iterations }
    }

    /// The results, or `None` for an error.
    fn predict(&self, rows: &Rows, question: &Question) -> Option<Vec<f64>> {
        let Question { one, row_major, predict_type, start, count, params } = *question;
        let (data, data_type) = rows.data(row_major);
        let (height, width) = (rows.height as i32, rows.width as i32);
        let (handle, row_major, params) = (self.handle, c_int::from(row_major), params.as_ptr());
        let mut results = vec![-7.0; rows.height * (self.iterations as usize).max(1)];
        let mut length = -7;
        let outputs = (&raw mut length, results.as_mut_ptr());
        // SAFETY: the data has as many numbers as its sizes say, one row where there is to be one, and there
        // is room for a result for each tree and row.
        let status = unsafe {
            if one {
                (self.api.predict_one)(
                    handle, data, data_type, width, row_major, predict_type, start, count, params, outputs.0,
                    outputs.1,
                )
            } else {
                (self.api.predict)(
                    handle, data, data_type, height, width, row_major, predict_type, start, count, params,
                    outputs.0, outputs.1,
                )
            }
        };
        (status == 0).then(|| {
            results.truncate(usize::try_from(length).unwrap());
            results
        })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: nobody uses the handle any more.
        assert_eq!(unsafe { (self.api.free)(self.handle) }, 0);
    }
}

/// A model in both.
struct Pair {
    name: String,
    ours: Model,
    theirs: Model,
}

/// What to ask for rows.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// Through the function for one row.
    one: bool,
    row_major: bool,
    predict_type: c_int,
    start: c_int,
    count: c_int,
    params: &'static CStr,
}

const QUIET: &CStr = c"num_threads=1 verbosity=-1";
const ANY_WIDTH: &CStr = c"num_threads=1 verbosity=-1 predict_disable_shape_check=true";

const PLAIN: Question =
    Question { one: false, row_major: true, predict_type: 0, start: 0, count: 0, params: QUIET };

/// Rows of either kind of number, in either order.
struct Rows {
    height: usize,
    width: usize,
    single: bool,
    doubles: [Vec<f64>; 2],
    singles: [Vec<f32>; 2],
}

impl Rows {
    fn new(values: &[f64], width: usize, single: bool) -> Rows {
        let height = values.len().checked_div(width).unwrap_or(3);
        let values = &values[..height * width];
        let column_major: Vec<f64> =
            (0..width).flat_map(|column| (0..height).map(move |row| values[row * width + column])).collect();
        let doubles = [column_major, values.to_vec()];
        let narrow = |values: &Vec<f64>| values.iter().map(|value| *value as f32).collect();
        let singles = [narrow(&doubles[0]), narrow(&doubles[1])];
        Rows { height, width, single, doubles, singles }
    }

    fn data(&self, row_major: bool) -> (*const c_void, c_int) {
        let order = usize::from(row_major);
        if self.single {
            (self.singles[order].as_ptr().cast(), 0)
        } else {
            (self.doubles[order].as_ptr().cast(), 1)
        }
    }
}

impl Pair {
    fn load(ours: Api, path: &Path) -> Pair {
        let text = path.to_str().unwrap();
        let ours = Model::new(ours, ours.create, text);
        let theirs = Model::new(THEIRS, THEIRS.create, text);
        let name = format!("{}, {} trees", path.file_name().unwrap().display(), theirs.iterations);
        let pair = Pair { name, ours, theirs };
        pair.same_facts();
        pair
    }

    fn same_facts(&self) {
        let facts = |model: &Model| {
            let api = model.api;
            let (features, classes) =
                (api.number(api.features, model.handle), api.number(api.classes, model.handle));
            (model.iterations, features, classes)
        };
        assert_eq!(facts(&self.ours), facts(&self.theirs), "{}", self.name);
    }

    /// Asks both, and gives how many rows had the same results.
    fn compare(&self, rows: &Rows, question: &Question) -> usize {
        let (ours, theirs) = (self.ours.predict(rows, question), self.theirs.predict(rows, question));
        assert_same(&self.name, question, ours.as_deref(), theirs.as_deref());
        rows.height
    }
}

/// Equal bits, or NaN in both: an average of no trees has whatever sign the processor gives it.
fn assert_same(name: &str, question: &Question, ours: Option<&[f64]>, theirs: Option<&[f64]>) {
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        panic!("{name}: {question:?}: ours {ours:?}, LightGBM's {theirs:?}");
    };
    assert_eq!(ours.len(), theirs.len(), "{name}: {question:?}");
    for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let same = ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan());
        assert!(same, "{name}: {question:?}: result {index}: ours {ours:e}, LightGBM's {theirs:e}");
    }
}

/// The golden forests, the small models, and kinds of forest that are not among them.
fn models() -> &'static [PathBuf] {
    static MODELS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    MODELS.get_or_init(make_models)
}

fn make_models() -> Vec<PathBuf> {
    let mut models = golden::models().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lgbm");
    fs::create_dir_all(&folder).unwrap();
    for model in ["conv_small/model_tflops", "gemm_small/model_tflops", "gemm_small/model_latency"] {
        models.push(folder.join(format!("{}.lgbm", model.replace('/', "-"))));
        fs::write(models.last().unwrap(), golden::unpacked(model).unwrap()).unwrap();
    }
    let leaves = "num_leaves=31 min_data_in_leaf=5 categorical_feature=7,8";
    let forest = "boosting=rf bagging_freq=1 bagging_fraction=0.6";
    for (name, params) in [
        ("random-forest-poisson", format!("{leaves} {forest} objective=poisson")),
        ("random-forest-zero-missing", format!("{leaves} {forest} zero_as_missing=true")),
        ("squared-roots", format!("{leaves} objective=quantile reg_sqrt=true")),
        ("tweedie", format!("{leaves} objective=tweedie")),
        ("wide-categories", format!("{leaves} cat_smooth=0 cat_l2=0 min_data_per_group=1")),
    ] {
        let booster = Booster::train(&synthetic::training(2000, 3), &params, 12, None).unwrap();
        models.push(folder.join(format!("{name}.txt")));
        fs::write(models.last().unwrap(), booster.to_text().unwrap()).unwrap();
    }
    models
}

/// Rows that look for trouble in this forest, then rows of one odd value each.
fn trouble(path: &Path, height: usize) -> (Vec<f64>, usize) {
    let forest = Forest::load(path).unwrap();
    let width = forest.num_features();
    let mut values = synthetic::trouble(&forest, height, 5);
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-35, -1e-35, 1e-40, f64::MAX] {
        values.extend(std::iter::repeat_n(odd, width));
    }
    (values, width)
}

/// Starts and counts of iterations, in and out of range.
fn iterations(all: c_int) -> Vec<(c_int, c_int)> {
    let half = all / 2;
    let mut ranges = vec![(0, 0), (0, -1), (0, 1), (0, half), (0, all), (0, i32::MAX), (1, 0), (half, half)];
    ranges.extend([(half, all), (all - 1, 1), (all, 1), (all + 5, 3), (i32::MAX, 0), (-3, 2), (1, i32::MIN)]);
    ranges
}

#[test]
fn every_way_to_ask_has_lightgbms_answer() {
    let ours = ours();
    let mut compared = 0;
    for path in models() {
        let pair = Pair::load(ours, path);
        let (values, width) = trouble(path, 400);
        let mut here = 0;
        for single in [false, true] {
            let rows = Rows::new(&values, width, single);
            for (start, count) in iterations(pair.theirs.iterations) {
                for row_major in [false, true] {
                    for predict_type in 0..3 {
                        let question = Question { row_major, predict_type, start, count, ..PLAIN };
                        here += pair.compare(&rows, &question);
                    }
                }
            }
        }
        println!("{}: {here} rows", pair.name);
        compared += here;
    }
    println!("{compared} rows in all");
}

/// A fresh model for each question: LightGBM's function for one row goes on with the start of an earlier call
/// if the kind and the count are the same.
#[test]
fn one_row_at_a_time_has_lightgbms_answer() {
    let ours = ours();
    let mut compared = 0;
    for path in models() {
        let (values, width) = trouble(path, 200);
        for (predict_type, start, count) in [(0, 0, 0), (1, 0, -1), (2, 1, 0), (0, 1, 2), (1, 1, 1)] {
            for single in [false, true] {
                let pair = Pair::load(ours, path);
                let rows: Vec<_> =
                    values.chunks_exact(width).map(|row| Rows::new(row, width, single)).collect();
                for (row_major, one) in [(false, true), (false, false), (true, true), (true, false)] {
                    let question = Question { one, row_major, predict_type, start, count, ..PLAIN };
                    compared += rows.iter().map(|row| pair.compare(row, &question)).sum::<usize>();
                }
            }
        }
    }
    println!("{compared} rows in all");
}

#[test]
fn rows_of_any_width_have_lightgbms_answer_where_allowed() {
    let ours = ours();
    let mut compared = 0;
    for path in models() {
        let pair = Pair::load(ours, path);
        let (values, width) = trouble(path, 200);
        for other in [0, 1, width - 1, width + 1, 3 * width] {
            for single in [false, true] {
                let rows = Rows::new(&values, other, single);
                for row_major in [false, true] {
                    let question = Question { row_major, params: ANY_WIDTH, ..PLAIN };
                    compared += pair.compare(&rows, &question);
                }
            }
        }
        let wide = Rows::new(&values, width + 1, false);
        assert_eq!((pair.ours.predict(&wide, &PLAIN), pair.theirs.predict(&wide, &PLAIN)), (None, None));
    }
    println!("{compared} rows in all");
}

/// Where one refuses the parameters, so does the other; where the parameters change nothing, they do so in
/// both.
#[test]
fn parameters_mean_what_they_mean_to_lightgbm() {
    let ours = ours();
    let path = PathBuf::from(format!("{}/poisson.txt", golden::FOLDER));
    let pair = Pair::load(ours, &path);
    let (values, width) = trouble(&path, 50);
    let (fits, wide) = (Rows::new(&values, width, false), Rows::new(&values, width + 1, false));
    for params in [
        c"",
        c"verbosity=-1 pred_early_stop=true pred_early_stop_freq=1 pred_early_stop_margin=0",
        c"verbosity=-1 predict_disable_shape_check=true",
        c"verbosity=-1\tpredict_disable_shape_check=TRUE",
        c"verbosity=-1\npredict_disable_shape_check=+",
        c"verbosity=-1 'predict_disable_shape_check'=\"true\"",
        c"verbosity=-1 predict_disable_shape_check=false",
        c"verbosity=-1 predict_disable_shape_check=-",
        c"verbosity=-1 predict_disable_shape_check",
        c"verbosity=-1 predict_disable_shape_check=",
        c"verbosity=-1 predict_disable_shape_check==true",
        c"verbosity=-1 predict_disable_shape_check=true=",
        c"verbosity=-1 predict_disable_shape_check=true=true",
        c"verbosity=-1 predict_disable_shape_check=1",
        c"verbosity=-1 predict_disable_shape_check=yes",
        c"verbosity=-1 predict_disable_shape_check=false predict_disable_shape_check=true",
        c"verbosity=-1 predict_disable_shape_check=true predict_disable_shape_check=false",
        c"verbosity=-1 pred_early_stop=maybe",
        c"verbosity=-1 Predict_Disable_Shape_Check=true",
    ] {
        let question = Question { params, ..PLAIN };
        for rows in [&fits, &wide] {
            let (ours, theirs) = (pair.ours.predict(rows, &question), pair.theirs.predict(rows, &question));
            assert_eq!(ours, theirs, "{params:?}");
        }
    }
}

/// What would change scores and is not supported is an error, never another score.
#[test]
fn ranking_forests_are_not_left_early() {
    let data = synthetic::ranking(2000, 1);
    let booster = Booster::train(&data, "objective=lambdarank num_leaves=15", 20, None).unwrap();
    let text = booster.to_text().unwrap();
    let ours = ours();
    let pair = Pair {
        name: "lambdarank".into(),
        ours: Model::new(ours, ours.load, &text),
        theirs: Model::new(THEIRS, THEIRS.load, &text),
    };
    let forest = Forest::parse(text.as_bytes()).unwrap();
    let rows = Rows::new(&synthetic::trouble(&forest, 200, 5), forest.num_features(), false);
    pair.compare(&rows, &PLAIN);
    let early =
        c"num_threads=1 verbosity=-1 pred_early_stop=true pred_early_stop_freq=1 pred_early_stop_margin=0";
    let question = Question { params: early, ..PLAIN };
    assert_eq!(pair.ours.predict(&rows, &question), None);
    assert!(ours.last_error().starts_with("pred_early_stop=true: not supported for ranking"));
    assert_ne!(pair.theirs.predict(&rows, &question), pair.theirs.predict(&rows, &PLAIN));
}
