//! Every function with arguments that are wrong: a status, a message, and outputs left alone.

mod support;

use std::ffi::{CString, c_char, c_int};
use std::{fs, ptr, thread};

use ck_select_lgbm::*;
use ck_select_model::forest::Forest;
use support::{Call, GEMM, GOLDEN, Model, last_error, rows};

fn fails(status: c_int) -> String {
    assert_eq!(status, -1);
    last_error()
}

#[test]
fn wrong_predictions_say_why_and_write_nothing() {
    let model = Model::load(GEMM);
    let data = rows(2, 72);
    let (mut length, mut results) = (-7, [-7.0; 2]);
    let (to_length, to_results) = (&raw mut length, &raw mut results);
    let call = Call::new(&model, &data, 72, (to_length, to_results.cast()));
    let mut word = 0x1234_5678_u64;
    let cases = [
        (Call { handle: ptr::null_mut(), ..call }, "the handle is NULL"),
        (Call { handle: (&raw mut word).cast(), ..call }, "the handle is not one of this library's"),
        (Call { handle: ptr::without_provenance_mut(3), ..call }, "the handle is not one of this library's"),
        (Call { data: ptr::null(), ..call }, "data is NULL"),
        (Call { data_type: 2, ..call }, "data_type is 2, expected 0 (float32) or 1 (float64)"),
        (Call { data_type: -1, ..call }, "data_type is -1, expected 0 (float32) or 1 (float64)"),
        (Call { nrow: -1, ..call }, "nrow is -1, expected at least 0"),
        (Call { ncol: i32::MIN, ..call }, "ncol is -2147483648, expected at least 0"),
        (Call { nrow: i32::MAX, ncol: i32::MAX, ..call }, "the data is larger than the address space"),
        (
            Call { ncol: 71, ..call },
            "the data has 71 features, the model has 72; with the parameter predict_disable_shape_check=true \
             missing ones are 0 and others are ignored",
        ),
        (
            Call { predict_type: 3, ..call },
            "predict_type is 3, expected 0 (normal), 1 (raw score) or 2 (leaf index); \
             contributions (3) are not supported",
        ),
        (
            Call { parameter: c"predict_disable_shape_check=1".as_ptr(), ..call },
            "predict_disable_shape_check=1: expected true, +, false or -",
        ),
        (Call { length: ptr::null_mut(), ..call }, "out_len is NULL"),
        (Call { results: ptr::null_mut(), ..call }, "out_result is NULL"),
    ];
    for (call, message) in cases {
        assert_eq!(fails(call.status()), message);
    }
    assert_eq!((length, results), (-7, [-7.0; 2]));

    // And what is not wrong: no parameters, no rows.
    let forest = Forest::load(GEMM).unwrap();
    let right = Call { parameter: ptr::null(), ..call };
    assert_eq!(right.status(), 0);
    assert_eq!(length, 2);
    assert_eq!(results.as_slice(), [&data[..72], &data[72..]].map(|row| forest.predict(row).unwrap()));
    let none = Call { nrow: 0, data: ptr::null(), results: ptr::null_mut(), ..right };
    assert_eq!(none.status(), 0);
    assert_eq!(length, 0);
}

#[test]
fn models_are_refused_with_the_file_and_the_line() {
    let (mut iterations, mut handle) = (-7, ptr::null_mut());
    let (to_iterations, to_handle) = (&raw mut iterations, &raw mut handle);
    let load = |path: *const c_char, iterations, handle| {
        // SAFETY: each pointer is NULL or right.
        fails(unsafe { LGBM_BoosterCreateFromModelfile(path, iterations, handle) })
    };
    let gemm = CString::new(GEMM).unwrap();
    assert_eq!(load(ptr::null(), to_iterations, to_handle), "filename is NULL");
    assert_eq!(load(gemm.as_ptr(), ptr::null_mut(), to_handle), "out_num_iterations is NULL");
    assert_eq!(load(gemm.as_ptr(), to_iterations, ptr::null_mut()), "out is NULL");
    assert!(
        load(c"no/such.lgbm".as_ptr(), to_iterations, to_handle).starts_with("no/such.lgbm: No such file")
    );
    // A name that is not UTF-8 is a name.
    assert!(load(c"\xff".as_ptr(), to_iterations, to_handle).contains("No such file"));
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.lgbm.gz");
    fs::write(&cut, &fs::read(GEMM).unwrap()[..1000]).unwrap();
    let cut = CString::new(cut.to_str().unwrap()).unwrap();
    assert!(load(cut.as_ptr(), to_iterations, to_handle).contains("not a whole gzip file"));

    let parse = |text: *const c_char, iterations, handle| {
        // SAFETY: each pointer is NULL or right.
        fails(unsafe { LGBM_BoosterLoadModelFromString(text, iterations, handle) })
    };
    assert_eq!(parse(ptr::null(), to_iterations, to_handle), "model_str is NULL");
    assert_eq!(parse(c"tree".as_ptr(), ptr::null_mut(), to_handle), "out_num_iterations is NULL");
    let classes = c"tree\nversion=v4\nnum_class=3\nend of trees\n";
    let message = parse(classes.as_ptr(), to_iterations, to_handle);
    assert!(message.starts_with("line 3: num_class is `3`"));
    let path = folder.path().join("classes.lgbm").display().to_string();
    fs::write(&path, classes.to_bytes()).unwrap();
    let name = CString::new(path.as_str()).unwrap();
    assert_eq!(load(name.as_ptr(), to_iterations, to_handle), format!("{path}: {message}"));
    assert_eq!((iterations, handle), (-7, ptr::null_mut()));
}

#[test]
fn a_model_from_memory_is_the_one_from_its_file() {
    let path = format!("{GOLDEN}/forest/random-forest.txt");
    let text = CString::new(fs::read(&path).unwrap()).unwrap();
    let (mut iterations, mut handle) = (0, ptr::null_mut());
    // SAFETY: a C string and two places to write to.
    let status =
        unsafe { LGBM_BoosterLoadModelFromString(text.as_ptr(), &raw mut iterations, &raw mut handle) };
    assert_eq!((status, iterations), (0, 7));
    let (model, file) = (Model(handle, 7), Model::load(&path));
    let (mut features, mut classes) = (0, 0);
    // SAFETY: live handles and places to write to.
    unsafe {
        assert_eq!(LGBM_BoosterGetNumFeature(model.0, &raw mut features), 0);
        assert_eq!(LGBM_BoosterGetNumClasses(model.0, &raw mut classes), 0);
        assert_eq!((features, classes), (10, 1));
        assert_eq!(LGBM_BoosterFree(ptr::null_mut()), 0);
        assert_eq!(fails(LGBM_BoosterGetNumFeature(model.0, ptr::null_mut())), "out_len is NULL");
        assert_eq!(fails(LGBM_BoosterGetNumClasses(model.0, ptr::null_mut())), "out_len is NULL");
        assert_eq!(
            fails(LGBM_BoosterGetNumFeature(ptr::null_mut(), &raw mut features)),
            "the handle is NULL"
        );
        assert_eq!(
            fails(LGBM_BoosterGetNumClasses(ptr::null_mut(), &raw mut features)),
            "the handle is NULL"
        );
    }
    let data = rows(1, 10);
    let single = |model: &Model, predict_type| {
        let (mut length, mut results) = (0, [0.0; 7]);
        // SAFETY: one row of ten, and room for a result of each tree.
        let status = unsafe {
            LGBM_BoosterPredictForMatSingleRow(
                model.0,
                data.as_ptr().cast(),
                1,
                10,
                1,
                predict_type,
                0,
                -1,
                c"".as_ptr(),
                &raw mut length,
                results.as_mut_ptr(),
            )
        };
        assert_eq!(status, 0);
        (length, results)
    };
    for (predict_type, length) in [(0, 1), (1, 1), (2, 7)] {
        assert_eq!(single(&model, predict_type), single(&file, predict_type));
        assert_eq!(single(&model, predict_type).0, length);
    }
}

/// Leaves were once looked up in what an earlier row had in a column that is missing (fe5c89e4).
#[test]
fn columns_that_are_missing_are_zero() {
    let model = Model::load(GEMM);
    let leaves = |row: &[f64]| {
        let (mut length, mut leaves) = (0, vec![-7.0; model.1]);
        let call = Call::new(&model, row, row.len(), (&raw mut length, leaves.as_mut_ptr()));
        let parameter = c"predict_disable_shape_check=true".as_ptr();
        assert_eq!(Call { predict_type: 2, parameter, ..call }.status(), 0);
        leaves
    };
    for value in [1.0, 64.0, 1e6] {
        let expected = leaves(&[[value; 10].as_slice(), &[0.0; 62]].concat());
        leaves(&[1e9; 72]);
        assert_eq!(leaves(&[value; 10]), expected);
    }
}

#[test]
fn models_come_and_go_while_others_predict() {
    let forest = Forest::load(GEMM).unwrap();
    let data = rows(20, 72);
    let expected: Vec<u64> = data.chunks(72).map(|row| forest.predict(row).unwrap().to_bits()).collect();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let model = Model::load(GEMM);
                    let (mut length, mut results) = (0, [0.0; 20]);
                    let call = Call::new(&model, &data, 72, (&raw mut length, results.as_mut_ptr()));
                    assert_eq!(call.status(), 0);
                    assert_eq!(results.map(f64::to_bits).as_slice(), expected);
                }
            });
        }
    });
}
