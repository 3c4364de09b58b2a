//! What the parity tests and the benches share: the real LightGBM behind a few safe calls.
