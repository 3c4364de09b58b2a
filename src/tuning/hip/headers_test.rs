//! Checks every number taken from HIP's headers against installed headers.
//!
//! Searched: `/usr/include` (Debian's libamdhip64-dev has version 5), `/opt/rocm/include`, and the
//! directories in `CK_SELECT_HIP_INCLUDE`, separated by colons. The Python package triton carries headers of
//! version 6 (3.1) and 7 (3.9) in `triton/backends/amd/include`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::api::{self, attribute};
use super::properties::{ROOM, TARGET_LEN, TARGET_OFFSET_R0000, TARGET_OFFSET_R0600};

/// Prints the numbers of a header in a fixed order, the major version first.
const PROBE: &str = r#"
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stddef.h>
#include <stdio.h>
int main(void) {
    const unsigned long numbers[] = {
        HIP_VERSION / 10000000,
        offsetof(hipDeviceProp_t, gcnArchName),
        sizeof(((hipDeviceProp_t *)0)->gcnArchName),
        sizeof(hipDeviceProp_t),
        hipSuccess, hipErrorNoDevice, hipErrorNotReady, hipErrorUnknown,
        hipDeviceAttributeClockRate, hipDeviceAttributeL2CacheSize, hipDeviceAttributeMemoryBusWidth,
        hipDeviceAttributeMemoryClockRate, hipDeviceAttributeMultiprocessorCount,
        hipDeviceAttributeMaxSharedMemoryPerBlock, hipDeviceAttributeWarpSize,
        sizeof(hipError_t), sizeof(hipStreamCaptureStatus), hipStreamCaptureStatusNone,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) printf("%lu\n", numbers[i]);
    return 0;
}
"#;

#[test]
#[cfg_attr(miri, ignore = "runs a C compiler")]
fn numbers_are_those_of_the_headers() {
    let listed = std::env::var_os("CK_SELECT_HIP_INCLUDE").unwrap_or_default();
    let mut directories: Vec<PathBuf> = ["/usr/include", "/opt/rocm/include"].map(PathBuf::from).to_vec();
    directories.extend(std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()));
    directories.retain(|directory| directory.join("hip/hip_runtime_api.h").is_file());
    let mut report = Vec::new();
    for directory in &directories {
        report.push(format!("version {} in {}", prove(directory), directory.display()));
    }
    let report = if report.is_empty() { "SKIPPED, none installed".to_owned() } else { report.join(", ") };
    // Bypasses the test's captured output, so that it is visible whether this ran.
    let _ = writeln!(std::io::stderr(), "HIP headers: {report}");
}

/// The major version of the header, whose numbers are all as expected.
fn prove(directory: &Path) -> usize {
    let numbers = probe(directory);
    let [major, offset, length, size, rest @ ..] = &numbers[..] else { panic!("{numbers:?}") };
    let expected = if *major < 6 { TARGET_OFFSET_R0000 } else { TARGET_OFFSET_R0600 };
    assert_eq!((*offset, *length), (expected, TARGET_LEN), "HIP {major}");
    assert!(size * 4 <= ROOM, "HIP {major}: {size}");
    let expected = [
        api::SUCCESS,
        api::NO_DEVICE,
        api::NOT_READY,
        api::UNKNOWN,
        attribute::CLOCK_RATE,
        attribute::L2_CACHE_SIZE,
        attribute::MEMORY_BUS_WIDTH,
        attribute::MEMORY_CLOCK_RATE,
        attribute::MULTIPROCESSOR_COUNT,
        attribute::MAX_SHARED_MEMORY_PER_BLOCK,
        attribute::WARP_SIZE,
        4,
        4,
        0,
    ];
    assert_eq!(rest, expected.map(|number| number as usize), "HIP {major}");
    *major
}

fn probe(directory: &Path) -> Vec<usize> {
    let folder = std::env::temp_dir().join(format!("ck_select_headers_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    std::fs::write(&source, PROBE).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut compile = Command::new(compiler);
    compile.arg("-w").arg("-I").arg(directory).arg(&source).arg("-o").arg(&program);
    assert!(compile.status().unwrap().success(), "{}", directory.display());
    let output = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}
