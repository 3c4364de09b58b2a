//! Job arrays for Slurm: one task per shard, and a job that merges them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::MeasureError;
use crate::shard::Shard;
use crate::sidecar::{Files, Meta};
use crate::sweep::Retry;

/// How many times a task starts `bench` if it fails.
const ATTEMPTS: u32 = 3;

/// What to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmJob {
    /// The program.
    pub program: PathBuf,
    /// The `bench` arguments that all shards share: without shard, output and Slurm options.
    pub arguments: Vec<String>,
    /// The merged log; the shards' logs are in the same folder.
    pub output: PathBuf,
    /// How many shards.
    pub shards: u32,
    /// The shards that have something to measure.
    pub parts: Vec<u32>,
    /// The unfinished shards.
    pub open: Vec<u32>,
    /// Options for `sbatch`, each on a line of its own.
    pub options: Vec<String>,
    /// How a task continues its log: `--resume`, or with what of it is measured again.
    pub resume: String,
    /// The working directory of the tasks.
    pub folder: PathBuf,
}

/// The log of a shard of a log.
pub fn shard_log(output: &Path, shard: Shard) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let ending = output.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    output.with_file_name(format!("{stem}.shard-{}-of-{}{ending}", shard.index(), shard.count()))
}

/// Whether the log of a shard has all its rows, and none to be measured again.
pub fn is_done(log: &Path, retry: &Retry) -> Result<bool, MeasureError> {
    let Some(meta) = Meta::read(&Files::of(log).meta)? else { return Ok(false) };
    if !log.exists() {
        return Ok(false);
    }
    let rows = crate::merge::logged(log)?;
    let done: HashSet<(&str, u64)> = rows.iter().map(|row| (row.kernel.as_str(), row.problem_idx)).collect();
    Ok(done.len() >= meta.plan.pairs && !rows.iter().any(|row| retry.wants(row)))
}

impl SlurmJob {
    /// Refuses what would be more than a line of a script: the rest of it would be a command.
    pub fn check(&self) -> Result<(), MeasureError> {
        let path = [("--output", self.output.to_string_lossy())];
        let options = self.options.iter().map(|option| ("--slurm", option.as_str().into()));
        for (name, text) in path.into_iter().chain(options) {
            if text.contains(char::is_control) {
                let message = format!("{name}: found {text:?}, expected one line without control characters");
                return Err(MeasureError::Settings(message));
            }
        }
        Ok(())
    }

    /// The script of the array: one task per shard.
    ///
    /// A task whose `bench` fails starts it again, and it continues where it was; Slurm requeues a task that
    /// is killed with its node. A task that is asked to end (time limit, `scancel`) ends cleanly and is not
    /// started again.
    pub fn array_script(&self) -> String {
        let open: Vec<String> = self.open.iter().map(u32::to_string).collect();
        let mut script = self.head("bench", &format!("--array={}", open.join(",")), "%a");
        let _ = writeln!(script, "#SBATCH --requeue");
        let _ = writeln!(script, "#SBATCH --open-mode=append");
        for option in &self.options {
            let _ = writeln!(script, "#SBATCH {option}");
        }
        let (before, after) = self.shard_log_parts();
        let words: Vec<String> = self.arguments.iter().map(|word| quote(word)).collect();
        let _ = write!(
            script,
            "\n\
             cd {folder} || exit 1\n\
             shard=$SLURM_ARRAY_TASK_ID\n\
             output={before}\"$shard\"{after}\n\
             attempt=1\n\
             # Told to end, bench ends cleanly; the shell must outlive it to pass its exit code on.\n\
             trap 'kill -TERM \"$bench\" 2>/dev/null' TERM INT\n\
             while :; do\n\
             \x20 {program} bench {words} --shard \"$shard/{shards}\" --output \"$output\" {resume} &\n\
             \x20 bench=$!\n\
             \x20 wait \"$bench\"; code=$?\n\
             \x20 # A trapped signal ends the wait, not bench.\n\
             \x20 while kill -0 \"$bench\" 2>/dev/null; do wait \"$bench\"; code=$?; done\n\
             \x20 case $code in 0|2|130|143) exit \"$code\" ;; esac\n\
             \x20 [ \"$attempt\" -ge {attempts} ] && exit \"$code\"\n\
             \x20 attempt=$((attempt + 1))\n\
             \x20 echo \"shard $shard: exit code $code, attempt $attempt of {attempts}\" >&2\n\
             done\n",
            folder = quote(&self.folder.to_string_lossy()),
            program = quote(&self.program.to_string_lossy()),
            words = words.join(" "),
            shards = self.shards,
            resume = self.resume,
            attempts = ATTEMPTS,
        );
        script
    }

    /// The script of the job that merges the shards once all of them are done.
    pub fn merge_script(&self) -> String {
        let mut script = self.head("merge", "--ntasks=1", "merge");
        // The merge needs partition and account, too, but no GPUs.
        for option in self.options.iter().filter(|option| is_general(option)) {
            let _ = writeln!(script, "#SBATCH {option}");
        }
        let parts = self.parts.iter();
        let logs: Vec<String> = parts
            .filter_map(|&index| Shard::new(index, self.shards))
            .map(|shard| quote(&shard_log(&self.output, shard).to_string_lossy()))
            .collect();
        let _ = write!(
            script,
            "\ncd {} || exit 1\nexec {} merge {} --complete --output {}\n",
            quote(&self.folder.to_string_lossy()),
            quote(&self.program.to_string_lossy()),
            logs.join(" "),
            quote(&self.output.to_string_lossy()),
        );
        script
    }

    fn head(&self, what: &str, kind: &str, log: &str) -> String {
        let stem = self.output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let log = self.folder.join(self.output.with_file_name(format!("{stem}.slurm-{log}.log")));
        let log = quote(&log.to_string_lossy());
        format!("#!/bin/bash\n#SBATCH --job-name=ckselect-{what}\n#SBATCH {kind}\n#SBATCH --output={log}\n")
    }

    /// The text before and after the shard number in the name of a shard's log.
    fn shard_log_parts(&self) -> (String, String) {
        let stem = self.output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let before = self.output.with_file_name(format!("{stem}.shard-"));
        let ending = self.output.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
        (quote(&before.to_string_lossy()), quote(&format!("-of-{}{ending}", self.shards)))
    }

    /// Submits the array and a merge that depends on it; returns both job numbers.
    pub fn submit(&self) -> Result<(String, String), MeasureError> {
        let array = sbatch(&[], &self.array_script())?;
        let merge = sbatch(&[format!("--dependency=afterok:{array}")], &self.merge_script())?;
        Ok((array, merge))
    }
}

/// Whether any job of a user may need the option.
fn is_general(option: &str) -> bool {
    let name = option.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default();
    ["account", "A", "partition", "p", "qos", "q", "clusters", "M", "reservation"].contains(&name)
}

/// Passes a script to `sbatch`; returns the job number.
fn sbatch(arguments: &[String], script: &str) -> Result<String, MeasureError> {
    use std::io::Write as _;
    let failed = |error| MeasureError::io("sbatch", error);
    let mut process = Command::new("sbatch")
        .arg("--parsable")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = process.stdin.take() {
        stdin.write_all(script.as_bytes()).map_err(failed)?;
    }
    let output = process.wait_with_output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout);
    // "number" or "number;cluster".
    let job = said.trim().split(';').next().unwrap_or_default().to_owned();
    if output.status.success() && !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(job);
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(MeasureError::Machine(format!("sbatch: {}: {}", output.status, error.trim())))
}

/// Quotes a word for the shell.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job() -> SlurmJob {
        SlurmJob {
            program: "/opt/ck select/ckselect".into(),
            arguments: vec!["--pool".into(), "it's".into()],
            output: "/data/sweep.csv".into(),
            shards: 4,
            parts: vec![1, 2, 4],
            open: vec![2, 4],
            options: vec!["--partition=gpu".into(), "--gpus=1".into()],
            resume: "--resume".into(),
            folder: "/work".into(),
        }
    }

    /// It ran as a command of the script, when the job began.
    #[test]
    fn a_second_line_is_refused() {
        assert!(job().check().is_ok());
        let option = SlurmJob { options: vec!["--gpus=1\ntouch owned".into()], ..job() };
        let output = SlurmJob { output: "/data/a\ntouch owned\n.csv".into(), ..job() };
        for (job, name) in [(option, "--slurm"), (output, "--output")] {
            let error = job.check().unwrap_err().to_string();
            assert!(error.starts_with(name) && error.contains("\\ntouch owned"), "{error}");
        }
    }

    #[test]
    fn a_task_does_its_shard() {
        let script = job().array_script();
        for line in [
            "#!/bin/bash\n",
            "#SBATCH --array=2,4\n",
            "#SBATCH --gpus=1\n",
            "output=/data/sweep.shard-\"$shard\"-of-4.csv\n",
            "'/opt/ck select/ckselect' bench --pool 'it'\\''s' --shard \"$shard/4\" --output \"$output\" \
             --resume",
        ] {
            assert!(script.contains(line), "{line}\n{script}");
        }
        let merge = job().merge_script();
        assert!(
            merge.contains(
                "merge /data/sweep.shard-1-of-4.csv /data/sweep.shard-2-of-4.csv \
                 /data/sweep.shard-4-of-4.csv --complete"
            ),
            "{merge}"
        );
        assert!(merge.contains("#SBATCH --partition=gpu\n") && !merge.contains("--gpus"), "{merge}");
    }

    #[test]
    fn scripts_are_scripts() {
        for script in [job().array_script(), job().merge_script()] {
            let mut shell = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut shell.stdin.take().unwrap(), script.as_bytes()).unwrap();
            assert!(shell.wait().unwrap().success(), "{script}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn any_word_survives_the_shell(word in "[ -~]{0,20}") {
            let script = format!("printf %s {}", quote(&word));
            let printed = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
            prop_assert_eq!(String::from_utf8(printed).unwrap(), word);
        }
    }
}
