#!/bin/bash
# `ckselect bench --slurm` on a real Slurm: one node on this machine, from Debian's packages.
#
#   tests/slurm/one_node.sh            install, start, test, stop
#   tests/slurm/one_node.sh start DIR  install and start; DIR keeps configuration and state
#   tests/slurm/one_node.sh stop DIR   stop what `start DIR` started
#
# Opt-in: it needs root, installs the packages slurm-wlm and munge, writes /etc/munge/munge.key if there is none, and
# runs daemons while it works. It ends only processes that it started.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)

install_packages() {
    if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq slurm-wlm munge >/dev/null
    fi
}

start_munge() {
    mkdir -p /run/munge /var/log/munge /var/lib/munge /etc/munge
    [ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
    chown -R munge: /run/munge /var/log/munge /var/lib/munge /etc/munge
    chmod 700 /etc/munge
    chmod 400 /etc/munge/munge.key
    if munge -n 2>/dev/null | unmunge >/dev/null 2>&1; then return; fi
    runuser -u munge -- munged --force --pid-file=/run/munge/ck-select.pid
    echo /run/munge/ck-select.pid >>"$1/pids"
}

start_slurm() {
    local dir=$1 host
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    host=$(hostname -s)
    : >"$dir/pids"
    install_packages
    start_munge "$dir"
    mkdir -p "$dir/state" "$dir/spool"
    cat >"$dir/slurm.conf" <<END
ClusterName=ckselect
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES State=UP
END
    export SLURM_CONF=$dir/slurm.conf
    slurmctld
    slurmd
    echo "$dir/slurmctld.pid" >>"$dir/pids"
    echo "$dir/slurmd.pid" >>"$dir/pids"
    wait_for 60 "an idle node" sh -c 'sinfo -h -o %t | grep -q idle'
}

stop_slurm() {
    local dir=$1 file
    [ -f "$dir/pids" ] || return 0
    tac "$dir/pids" | while read -r file; do
        if [ -s "$file" ]; then kill "$(cat "$file")" 2>/dev/null || true; fi
    done
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
    local left=$(($1 * 5)) what=$2
    shift 2
    until "$@"; do
        left=$((left - 1))
        if [ "$left" -le 0 ]; then
            echo "FAILED: waited in vain for $what" >&2
            exit 1
        fi
        sleep 0.2
    done
}

rows() { if [ -f "$1" ]; then wc -l <"$1"; else echo 0; fi; }
has_rows() { [ "$(rows "$1")" -gt "$2" ]; }
queue_is_empty() { [ -z "$(squeue -h)" ]; }

# The process of `ckselect bench` that writes a log, found by its arguments.
writer_of() {
    local process
    for process in /proc/[0-9]*; do
        if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qx -- "$1" &&
            [ "$(readlink "$process/exe")" = "$ckselect" ]; then
            basename "$process"
            return
        fi
    done
}

run_test() {
    local dir=$1
    ckselect=${CKSELECT:-$root/target/release/ckselect}
    if [ ! -x "$ckselect" ]; then
        (cd "$root" && cargo build --release --package ckselect)
    fi
    ckselect=$(readlink -f "$ckselect")
    local work=$dir/work kernel m n
    mkdir -p "$work/bin" "$work/locks"
    export CK_SELECT_LOCK_DIR=$work/locks
    "${CC:-cc}" -D_GNU_SOURCE -O1 "$root/tests/fake_kernels/fake_benchmark.c" -o "$work/bin/fake"
    for m in 16 32 48 64 80; do
        for n in 16 32; do
            kernel=gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_${m}x${n}x64_2x2x1_32x32x16
            echo "$kernel" >>"$work/pool.txt"
            ln -f "$work/bin/fake" "$work/bin/benchmark_$kernel"
        done
    done
    echo m,n,k >"$work/problems.csv"
    for m in $(seq 24); do echo "$((m * 64)),128,256" >>"$work/problems.csv"; done
    cd "$work"
    set -- bench --pool pool.txt --problems problems.csv --runner bin
    "$ckselect" "$@" --output whole.csv

    export FAKE_SLEEP_MS=60
    "$ckselect" "$@" --output sweep.csv --slurm 4
    # A shard is killed outright: its task starts it again, and it goes on.
    wait_for 120 "rows of shard 1" has_rows sweep.shard-1-of-4.csv 4
    kill -9 "$(writer_of "$work/sweep.shard-1-of-4.csv")"
    # A task is cancelled: its shard ends cleanly, and the merge, which waits for all of them, is never run.
    wait_for 240 "rows of shard 2" has_rows sweep.shard-2-of-4.csv 4
    scancel "$(squeue -h -r -n ckselect-bench -o '%i %K' | awk '$2 == 2 { print $1 }')"
    wait_for 240 "the end of the array" sh -c '[ -z "$(squeue -h -n ckselect-bench)" ]'
    grep -q 'attempt 2 of 3' sweep.slurm-1.log || { echo 'FAILED: shard 1 was not started again' >&2; exit 1; }
    grep -q '"signal 15"' sweep.shard-2-of-4.csv.meta.json || { echo 'FAILED: shard 2 did not end cleanly' >&2; exit 1; }
    [ ! -e sweep.csv ] || { echo 'FAILED: merged without shard 2' >&2; exit 1; }
    scancel -n ckselect-merge
    wait_for 60 "an empty queue" queue_is_empty

    # Only what is not done is submitted again, and then it is merged.
    "$ckselect" "$@" --output sweep.csv --slurm 4 --resume | tee resubmitted.txt
    grep -q 'of 1 shards' resubmitted.txt || { echo 'FAILED: more than shard 2 was submitted again' >&2; exit 1; }
    wait_for 240 "an empty queue" queue_is_empty
    if ! diff <(sort whole.csv) <(sort sweep.csv); then
        echo 'FAILED: the merged shards are not the unsharded sweep' >&2
        exit 1
    fi
    echo "OK: 4 shards, one killed, one cancelled and resumed; $(($(rows sweep.csv) - 1)) merged rows equal the unsharded ones"
}

case ${1:-test} in
start) start_slurm "$2" ;;
stop) stop_slurm "$2" ;;
test)
    dir=$(mktemp -d)
    trap 'stop_slurm "$dir"; rm -rf "$dir"' EXIT
    start_slurm "$dir"
    run_test "$dir"
    ;;
*)
    echo "usage: $0 [test | start DIR | stop DIR]" >&2
    exit 2
    ;;
esac
