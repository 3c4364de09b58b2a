#![no_main]
//! A pool file never panics; a pool that was read can be made again from its kernels, and finds each by name.

use ck_select::pool::Pool;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Pool::from_bytes("fuzz", bytes) {
        Ok(pool) => {
            assert_eq!(Pool::new(pool.iter().cloned().collect()).as_ref(), Ok(&pool));
            for (index, kernel) in pool.iter().enumerate() {
                let position = pool.position(&kernel.name);
                assert!(position.is_some_and(
                    |first| first <= index && pool.get(first).map(|k| &k.name) == Some(&kernel.name)
                ));
            }
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
});
