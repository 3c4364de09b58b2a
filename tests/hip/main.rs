//! HIP's runtime: the double of it, and the system's own.

#[path = "../hip_double/mod.rs"]
mod hip_double;

#[cfg(feature = "hip-link")]
mod link;
mod load;
mod search;
