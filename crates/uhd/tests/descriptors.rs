//! Descriptors: what is accepted, and what each mistake is called.

use ck_select_uhd::{Descriptor, features_hash};
use serde_json::{Value, json};

/// Hashes that Python's `json` and `hashlib` give.
#[test]
fn features_have_the_hash_of_pythons_json() {
    let signature = json!(["$kernel.tile_m", {"log2": "$graph.flops"}, {"if": [{"<": ["$a.b", 1e-05]}, 1.5, 2, 1.0]}, "$ü"]);
    let encoding = json!({"$kernel.dtype": {"FP16": 1, "BF16": 0}});
    assert_eq!(features_hash(&signature, None), "sha256:cc8664719e424b67");
    assert_eq!(features_hash(&signature, Some(&json!({}))), "sha256:cc8664719e424b67");
    assert_eq!(features_hash(&signature, Some(&encoding)), "sha256:7e138d0520ee20fe");
}

const ID: &str = "5f2a7c14-9d3b-4e86-b0a1-6c4f21d8e370";

fn good() -> Value {
    let signature = json!(["$kernel.tile_m", {"log2": "$graph.flops"}]);
    json!({
        "version": "1.0", "id": ID, "name": "conv", "adapter": "tree_data",
        "tree_data": {"artifact": "models/model.bin", "hash": "0".repeat(64)},
        "features_hash": features_hash(&signature, None), "features_signature": signature,
        "objective": "max", "score": {"metric": "tflops", "transform": "log1p"},
        "trained_against": {"ued": {"id": ID, "revision": "1.0"}, "kmd": {"id": ID, "revision": "1.0"}, "umd": []},
        "provenance": [1], "x-note": 3,
    })
}

fn parsed(value: &Value) -> Result<Descriptor, String> {
    Descriptor::parse(value.to_string().as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn each_mistake_is_named() {
    assert!(parsed(&good()).unwrap().old().is_empty());
    let cases = r#"
/version|"1.1"|version: found "1.1", expected 1.0
/id|"abc"|id: found "abc", expected a UUID
/name|""|name: found "", expected a string that is not empty
/adapter|"table"|adapter: found 'table' and the bodies ["tree_data"]
/tree_data/artifact|"../model.bin"|tree_data.artifact: found "../model.bin", expected a path in
/tree_data/artifact|"a/"|tree_data.artifact: found "a/"
/tree_data/hash|"FF"|tree_data.hash: found "FF", expected 64 lowercase
/features_signature/0|"M"|features_signature[0]: found "M", expected a name that begins with $
/features_signature/1|{"log3": 2}|features_signature[1]: found 'log3', expected an operator: + * min max
/features_signature/1|{"log2": [1, 2]}|features_signature[1]: found 2 arguments of 'log2', expected 1 to 1
/features_signature/1|{"abs": 1e15}|features_signature[1]: found 1000000000000000.0, expected a number below
/features_hash|"sha256:00"|features_hash: found "sha256:00", expected sha256:
/objective|"min"|score.metric: found 'tflops', expected tflops with objective max
/score/transform|"log2"|score.transform: found "log2", expected identity, log1p
/score|{"calibrated": true}|score.calibrated: found true, expected a metric
/score/metric|"accuracy.top1"|score.metric: found "accuracy.top1"
/trained_against|{}|trained_against: found {}, expected ued, kmd and umd
/trained_against|{"umd": [], "selector_revision": "1"}|trained_against: found {"selector_revision":
/trained_against/kmd/revision|"1"|trained_against.kmd.revision: found "1", expected major.minor
/trained_against/umd|[{"id": "x"}]|trained_against.umd[].id: found "x"
/trained_against/umd|[{"id": "SMALL", "revision": "1.0"}, {"id": "LARGE", "revision": "1.0"}]|trained_against: found {
/trained_against/umd|[5]|trained_against.umd[]: found 5, expected an object
/tree_data|{"artifact": "a", "size": 3}|tree_data.size: found an unknown key, expected artifact, hash
/x-note|[1]|ok"#;
    for case in cases.lines().skip(1) {
        let [place, value, message] = *case.split('|').collect::<Vec<_>>() else { panic!("{case}") };
        let mut document = good();
        let value = value.replace("SMALL", ID).replace("LARGE", &ID.to_uppercase());
        *document.pointer_mut(place).unwrap() = serde_json::from_str(&value).unwrap();
        let found = parsed(&document).map_or_else(|error| error, |_| "ok".to_owned());
        assert!(found.starts_with(message), "{found}\n{message}");
    }
    let old = r#"{"version": "1.0", "id": "5f2a7c14-9d3b-4e86-b0a1-6c4f21d8e370", "name": "a", "adapter":
        "static_order", "static_order": {"order": ["id"]}}"#;
    assert_eq!(Descriptor::parse(old.as_bytes()).unwrap().old(), ["static_order.order"]);
    let flat = Descriptor::parse(b"\x10\0\0\0HUHD....").unwrap_err().to_string();
    assert!(flat.starts_with("document: found a FlatBuffer"), "{flat}");
}
