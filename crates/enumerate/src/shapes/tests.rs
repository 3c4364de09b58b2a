use sha2::{Digest, Sha256};

use super::*;

fn set(name: &str) -> &'static Set {
    sets().unwrap().iter().find(|set| set.name == name).unwrap()
}

fn digest(lines: &[String]) -> String {
    format!("{:x}", Sha256::digest(lines.join("\n")))
}

/// The digests are those of upstream's own generators.
#[test]
fn wide_and_edge_are_upstreams() {
    for (name, count, expected) in [
        ("wide", 706, "171e6af5d27f29e9dd5c8b63a13818d88f41c10b13118463b40179870fb0c337"),
        ("edge", 546, "d67ee8f9c80d7cc63da93594865d598679f2c9a4bf777b19d9bd7b3ca8403ef2"),
    ] {
        let problems = set(name).problems(&Choice::new(Dtype::Bf16)).unwrap();
        let lines = problems.iter().map(|problem| match problem {
            Problem::Gemm(gemm) => format!("{},{},{}", gemm.m, gemm.n, gemm.k),
            _ => panic!(),
        });
        assert_eq!(
            (problems.len(), digest(&lines.collect::<Vec<_>>()).as_str()),
            (count, expected),
            "{name}"
        );
    }
}

/// Sets are data, in which a changed number is no error: every problem of all directions and dimensions.
#[test]
fn sets_do_not_change_unnoticed() {
    let mut counts = Vec::new();
    for set in sets().unwrap() {
        let mut lines = Vec::new();
        // Only convolutions have directions and dimensions.
        let choices = if set.op() == Op::Conv { 6 } else { 1 };
        for number in 0..choices {
            let direction = [Direction::Forward, Direction::BwdData, Direction::BwdWeight][number / 2];
            let ndim = 2 + number as u8 % 2;
            let choice = Choice { direction, ndim, any_dtype: true, ..Choice::new(Dtype::Bf16) };
            let problems = set.problems(&choice).unwrap();
            assert!(problems.iter().all(|problem| problem.validate().is_ok()), "{}", set.name);
            lines.extend(problems.iter().map(ToString::to_string));
        }
        counts.push(format!("{} {} {}", set.name, lines.len(), &digest(&lines)[..16]));
    }
    let expected = [
        "wide 706 4b7552ebae64ea8b", "edge 546 e1affb54afc086db", "benchmark 25 03fa7736bd0117da",
        "sweep 3167 3a86e91ba069a292", "conv-wide 12276 dae08def59fe0191", "conv-edge 1539 e80a1cffdb9313d2",
        "synthetic 2577 9bf235177354dc9d", "holdout 1800 ab60f0bceec1fa81",
        "holdout-odd 1800 fba9a93b63bdde53", "holdout-gemm 300 79ff2548674a033f",
        "holdout-fmha 300 ced2214bc57697b5", "resnet50 414 8919ee5fb45be6fd",
        "mobilenetv2 540 3fe268c9fb09f3ee", "unet 342 77c494d6da93e3f7", "convnext 288 dafb5a294ccf9f1b",
        "vit-patch 144 7f8502b432fea3db", "networks 1728 1fe3e86ab9f7d634", "attention 183 d0c3ee977b5863e2",
        "fmha-smoke 658 fc837f5a1f6cb49c", "fmha-full 23905 dc5306c442dd43e9",
        "fmha-bwd 206 2055db58749c13f2",
    ];
    assert_eq!(counts, expected);
}

#[test]
fn types_of_attention_can_be_chosen() {
    for name in ["fmha-smoke", "fmha-bwd"] {
        let all = set(name).problems(&Choice { any_dtype: true, ..Choice::new(Dtype::Bf16) }).unwrap().len();
        let of = |dtype| set(name).problems(&Choice::new(dtype)).unwrap().len();
        assert_eq!(
            [Dtype::Fp16, Dtype::Bf16, Dtype::Fp8Bf16, Dtype::Fp8Fp32].map(of).iter().sum::<usize>(),
            all,
            "{name}"
        );
    }
}

#[test]
fn a_name_says_what_upstream_says_and_a_wrong_one_what_is_meant() {
    let named: NamedSet = "bwd_data_3d".parse().unwrap();
    assert_eq!((named.set.name.as_str(), named.upstream), ("synthetic", Some((Direction::BwdData, 3))));
    let error = "conv-wid".parse::<NamedSet>().unwrap_err();
    assert!(error.contains("; did you mean 'conv-wide'? (one of: wide, edge"), "{error}");
}
