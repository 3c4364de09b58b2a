//! Tables of vLLM and SGLang: what `rank` writes, and what is refused before anything is written.

use serde_json::{Value, json};

use crate::common::Folder;

const MIXTRAL: &str = r#"{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096,
    "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2, "torch_dtype": "bfloat16"}"#;

/// Kernels of two heights of tiles, one of them with a step that blocks of 128 do not hold.
const POOL: [&str; 6] = [
    "triton_moe_bf16_16x64x64_group1_4warps_4stages",
    "triton_moe_bf16_64x128x64_group16_4warps_3stages",
    "triton_moe_bf16_128x128x64_group16_8warps_3stages",
    "triton_moe_fp8_16x64x128_group1_4warps_4stages",
    "triton_moe_fp8_64x128x128_group16_4warps_3stages",
    "triton_moe_fp8_64x128x256_group16_4warps_3stages",
];

const RANK: &str = "rank --model estimate --pool @pool.txt --output @tables";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("pool.txt", POOL.join("\n"));
    folder.write("config.json", MIXTRAL);
    folder
}

fn table(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.read(&format!("tables/{name}"))).unwrap()
}

/// The rows of a tile of each token count.
fn rows_of_tiles(table: &Value) -> Vec<(String, u64)> {
    let keys = table.as_object().unwrap().iter().filter(|(key, _)| *key != "triton_version");
    keys.map(|(key, entry)| (key.clone(), entry["BLOCK_SIZE_M"].as_u64().unwrap())).collect()
}

#[test]
fn a_models_file_becomes_the_tables_of_its_engine() {
    let folder = folder();
    folder.good(&format!("{RANK} --format vllm --arch h200 --problems @config.json --tp 4"));
    let name = "E=8,N=3584,device_name=NVIDIA_H200.json";
    let own = table(&folder, name);
    assert_eq!(own["triton_version"], json!("3.6.0"));
    let rows = rows_of_tiles(&own);
    assert!(rows.iter().any(|row| row.1 == 16) && rows.iter().any(|row| row.1 > 16), "{rows:?}");
    for key in ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages"] {
        assert!(
            own.as_object().unwrap().values().skip(1).all(|entry| entry.is_string() || entry[key].is_u64())
        );
    }
    // Given token counts are the keys; each rank has whole experts.
    folder.good(&format!(
        "{RANK} --format sglang --arch h100 --problems @config.json --tp 4 --ep 4 --tokens 1,64,4096 --triton 3.5.1"
    ));
    let of = |down: &str| {
        let name = format!("E=2,N=14336,device_name=NVIDIA_H100_80GB_HBM3{down}.json");
        rows_of_tiles(&table(&folder, &format!("configs/triton_3_5_1/{name}")))
    };
    let (first, second) = (of(""), of("_down"));
    assert_eq!(first.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["1", "4096", "64"]);
    assert_eq!(first, second);
}

#[test]
fn problems_of_a_list_are_tables_by_their_names() {
    let folder = folder();
    folder.write(
        "problems.csv",
        "stage,tokens,experts,topk,n,k,dtype_a,dtype_b,quant,block_n,block_k\n\
         1,16,128,8,1536,2048,fp8,fp8,block,128,128\n\
         2,512,128,8,2048,768,fp8,fp8,block,128,128\n\
         1,16,8,2,7168,4096,bf16,bf16,none,0,0\n",
    );
    let line = format!("{RANK} --format vllm --device-name NVIDIA_H20 --arch sm_90 --problems @problems.csv");
    let (_, said) = folder.both(&line);
    assert!(said.contains("2 tables for NVIDIA_H20"), "{said}");
    let own = table(&folder, "E=128,N=768,device_name=NVIDIA_H20,dtype=fp8_w8a8,block_shape=[128,128].json");
    let entries = own.as_object().unwrap().values().filter(|entry| entry.is_object());
    assert!(entries.into_iter().all(|entry| entry["BLOCK_SIZE_K"] == json!(128)), "{own}");
    table(&folder, "E=8,N=3584,device_name=NVIDIA_H20.json");
}

#[test]
fn kept_entries_stay_and_gaps_are_filled() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("tables/configs/triton_3_6_0")).unwrap();
    let name = "E=8,N=3584,device_name=NVIDIA_H200.json";
    let entry = |m: u32| {
        format!(r#"{{"BLOCK_SIZE_M": {m}, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1}}"#)
    };
    let mine = format!(r#"{{"triton_version": "3.2.0", "5": {}}}"#, entry(16));
    folder.write(&format!("tables/{name}"), &mine);
    let line = format!("{RANK} --format vllm --arch h200 --problems @config.json --tp 4");
    folder.good(&format!("{line} --keep"));
    let own = table(&folder, name);
    let object = own.as_object().unwrap();
    // The engines' ladder beside the entry and the version that were there.
    assert_eq!((object.len(), &own["triton_version"]), (20, &json!("3.2.0")));
    assert_eq!(own["5"], serde_json::from_str::<Value>(&entry(16)).unwrap());
    folder.refuses(&format!("{line}\n2: E=8,N=3584,device_name=NVIDIA_H200.json exists; --keep fills"));
    assert_eq!(table(&folder, name), own);
    folder.good(&format!("{line} --overwrite"));
    assert!(table(&folder, name).get("5").is_none_or(|entry| entry["num_warps"].is_u64()));
    // The other stage follows a kept entry's rows.
    let sglang = "tables/configs/triton_3_6_0/E=8,N=3584,device_name=NVIDIA_H200";
    folder.write(&format!("{sglang}.json"), format!(r#"{{"1": {}}}"#, entry(64)));
    let line = format!("{RANK} --format sglang --arch h200 --problems @config.json --tp 4 --keep");
    folder.good(&line);
    let down: Value = serde_json::from_str(&folder.read(&format!("{sglang}_down.json"))).unwrap();
    assert_eq!(down["1"]["BLOCK_SIZE_M"], json!(64));
    folder.write(&format!("{sglang}_down.json"), format!(r#"{{"1": {}}}"#, entry(16)));
    folder.refuses(&format!("{line}\n1: 1: BLOCK_SIZE_M: found [64, 16] in the tables of both stages"));
    folder.write(&format!("{sglang}_down.json"), r#"{"1": {"block_size": 448}}"#);
    folder.refuses(&format!("{line}\n1: 1: key: found 'block_size', expected a known one"));
}

/// Nothing is written beside what is refused.
#[test]
fn what_an_engine_would_not_load_is_refused_before_anything_is_written() {
    let folder = folder();
    folder.write("dense.json", r#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336}"#);
    let model = MIXTRAL.trim_end_matches('}');
    folder.write(
        "awq.json",
        format!(r#"{model}, "quantization_config": {{"quant_method": "bitsandbytes"}}}}"#),
    );
    folder.write(
        "int8.csv",
        "stage,tokens,experts,topk,n,k,dtype_a,dtype_b,quant\n1,16,8,2,7168,4096,bf16,bf16,none\n\
         1,16,8,2,7168,4096,int8,int8,token\n",
    );
    folder.refuses(&format!(
        "{RANK} --format vllm --arch h200 --problems @dense.json
            1: dense.json: num_local_experts: found nothing, expected one of num_local_experts, n_routed_experts
        {RANK} --format vllm --arch h200 --problems @awq.json
            1: quantization_config.quant_method: found 'bitsandbytes', expected fp8, 
        {RANK} --format vllm --arch h200 --problems @config.json --tp 3
            1: config.json: tp: found 3, expected a divisor of 14336 elements of an expert
        {RANK} --format vllm --arch h200 --problems @config.json --tp 3 --ep 2
            1: config.json: ep: found 2, expected a divisor or a multiple of tp, which is 3
        {RANK} --format vllm --arch h200 --device-name NVIDIA_H2000 --problems @config.json
            2: --device-name: device_name: found 'NVIDIA_H2000', expected one of AMD_Instinct_MI210, 
        {RANK} --format vllm --arch h200 --device-name AMD_Instinct_MI300X --problems @config.json
            2: --device-name: found AMD_Instinct_MI300X, which is gfx942, but --arch is sm_90
        {RANK} --format vllm --arch h200 --device-name NVIDIA_H200_NVL --problems @config.json
            1: device_name: found NVIDIA_H200_NVL, expected NVIDIA_H200, as vLLM calls each H200
        {RANK} --format vllm --arch h200 --problems @int8.csv
            1: dtype: found int8_w8a8, expected 16-bit floats or one of float32, fp8_w8a8, 
        {RANK} --format sglang --arch h200 --triton newest --problems @config.json
            2: --triton: found 'newest', expected a version such as 3.6.0
        rank --model estimate --pool @pool.txt --format vllm --arch h200 --problems @config.json
            2: --format vllm writes a file for each table: give --output the folder"
    ));
    assert!(!folder.path("tables").exists());
}

/// A row of AITER's table has kernels of both stages with the same rows of a tile.
#[test]
fn aiters_rows_have_a_kernel_of_each_stage() {
    let folder = Folder::new();
    let first = |m: u32| {
        format!(
            "moe_ck2stages_gemm1_256x{m}x64x128_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_gelu_B16_B16_B16"
        )
    };
    let second = |m: u32| {
        format!(
            "moe_ck2stages_gemm2_256x{m}x64x64_1x4_TypeCastExpertWeight_v1_Nswizzle0_Quant0_MulRoutedWeight1_B16_B16_B16"
        )
    };
    folder.write("pool.txt", [first(32), first(64), second(32), second(128)].join("\n"));
    // Of one problem, each stage or both; another has an activation that no kernel has.
    folder.write(
        "problems.csv",
        "stage,tokens,experts,topk,n,k,activation\nboth,2048,128,8,384,2048,gelu\n1,2048,128,8,384,2048,gelu\n\
         2,16,8,2,4096,14336,gelu\n1,16,8,2,28672,4096,swiglu\n",
    );
    let line = "rank --model estimate --format aiter --pool @pool.txt --arch mi308x --problems @problems.csv";
    let (table, said) = folder.both(line);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 3, "{table}{said}");
    let kernels = format!("inf,{},0.0%,inf,{},0.0%,inf,0,0,0", first(32), second(32));
    let types = "ActivationType.Gelu,torch.bfloat16,torch.bfloat16,torch.bfloat16,QuantType.No,1,0,32,0";
    assert_eq!(rows[1], format!("80,2048,2048,192,128,8,{types},{kernels}"));
    assert_eq!(rows[2], format!("80,16,4096,14336,8,2,{types},{kernels}"));
    assert!(said.contains("activation=gelu"), "{said}");
    folder.refuses(&format!(
        "{} --arch gfx942\n2: (80, 228, 304): give --arch a product\n\
         rank --format aiter --pool moe --arch mi308x --problems @problems.csv\n\
         2: --format aiter: moe has Triton's kernels, expected names of CK's two-stage kernels",
        line.replace(" --arch mi308x", "")
    ));
}

#[test]
fn folders_of_tables_are_winners() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("tables/triton_3_6_0")).unwrap();
    let entry = |m: u32, n: u32| {
        format!(
            r#"{{"BLOCK_SIZE_M": {m}, "BLOCK_SIZE_N": {n}, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": {},
                "num_warps": 4, "num_stages": {}}}"#,
            if m == 16 { 1 } else { 16 },
            if m == 16 { 4 } else { 3 },
        )
    };
    let text = format!(r#"{{"1": {}, "4096": {}, "64": {}}}"#, entry(16, 64), entry(64, 128), entry(32, 32));
    for name in [
        "triton_3_6_0/E=8,N=3584,device_name=NVIDIA_H200.json",
        "E=8,N=7168,device_name=NVIDIA_H20.json",
        "E=8,N=7168,device_name=AMD_Radeon_Graphics.json",
        "E=8,N=7168,device_name=NVIDIA_B200.json",
        "E=9,N=333,device_name=NVIDIA_H200.json",
        "N=7168,K=2048,device_name=NVIDIA_H200.json",
    ] {
        folder.write(&format!("tables/{name}"), &text);
    }
    let line = "evaluate --model estimate --pool @pool.txt --winners";
    let said = folder.both(&format!("{line} @tables")).1;
    for part in [
        "left out: 1 files that no engine names so",
        "left out: 1 tables of GPUs that their names do not tell",
        "left out: 1 tables of no known model's ranks",
        // The entries of 64 tokens have a configuration that the pool lacks.
        "left out: 2 shapes whose winner is none of the pool's",
        "64 tokens: 'triton_moe_bf16_32x32x64_group16_4warps_3stages' won",
        "left out: the tables of sm_100, whose constants are not known",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let gpus = folder.json(&format!("{line} @tables"))["gpus"].as_array().unwrap().clone();
    let figures: Vec<_> =
        gpus.iter().map(|gpu| (gpu["gpu"].as_str().unwrap(), gpu["shapes"].as_u64().unwrap())).collect();
    assert_eq!(figures, [("sm_90/78", 2), ("sm_90/132", 2)]);
    assert!(gpus.iter().all(|gpu| gpu["winner_top10"] == json!(1.0)), "{gpus:?}");
    #[cfg(feature = "train")]
    {
        folder.good(
            "train --winners @tables --pool @pool.txt --arch sm_90 --output @model --params n_estimators=2",
        );
        let (_, said) = folder.both("evaluate --model @model --pool @pool.txt --winners @tables");
        assert!(said.contains("was trained on"), "{said}");
    }
    // A folder of another tuner's tables is none, and its first file says why.
    let alien = "alien/E=8,N=7168,device_name=NVIDIA_H200.json";
    std::fs::create_dir(folder.path("alien")).unwrap();
    folder
        .refuses(&format!("{line} @alien\n1: alien: found none, expected tables of vLLM or SGLang such as"));
    for (text, fault) in [
        (r#"{"M": {"16": {"kernel": 3}}}"#, r#"key: found 'M', expected token counts such as "64""#),
        (
            &format!(r#"{{"1": {}}}"#, entry(16, 48)),
            "1: BLOCK_SIZE_N: found 48, expected a power of two from 8 to 1024",
        ),
    ] {
        folder.write(alien, text);
        folder.refuses(&format!("{line} @{alien}\n1: {alien}: {fault}\n{line} @alien\n1: {alien}: {fault}"));
    }
    // A single file has to be a table.
    folder.refuses(&format!(
        "{line} @tables/N=7168,K=2048,device_name=NVIDIA_H200.json\n1: E: found 'N=7168,K=2048,device_name=NVIDIA_H200', expected E=\n\
         {line} @tables/E=8,N=7168,device_name=AMD_Radeon_Graphics.json\n1: device_name: found AMD_Radeon_Graphics, expected the name of one GPU's"
    ));
}
