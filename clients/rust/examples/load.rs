//! Makes IDs in several processes and threads from a running member, and checks that no two are
//! equal and that those of each thread ascend. Then it measures a loop in one thread.
//!
//! `cargo run --release --example load http://127.0.0.1:7948 3 4 100000 [LAYOUT]`

use snowgrid::{Create, Generator, Layout, Options};
use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::scope;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TIMEOUT: Duration = Duration::from_secs(60);
const LOOP: u32 = 3_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, or: usize| args.get(i).map_or(or, |text| text.parse().unwrap());
    let address = args.get(1).map_or("http://127.0.0.1:7948", String::as_str);
    let (processes, threads, each) = (number(2, 3), number(3, 4), number(4, 100_000));
    if std::env::var_os("SNOWGRID_LOAD_CHILD").is_some() {
        return child(address, threads, each, args.get(5));
    }
    let from = Instant::now();
    let spawn = |_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&args[1..]).env("SNOWGRID_LOAD_CHILD", "1").stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        eprintln!("process {}", child.id());
        child
    };
    let mut children: Vec<_> = (0..processes).map(spawn).collect();
    let mut all: Vec<i64> = scope(|s| {
        let read = |child: &mut std::process::Child| {
            let mut bytes = Vec::new();
            child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
            assert!(child.wait().unwrap().success());
            bytes.chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let readers: Vec<_> = children.iter_mut().map(|c| s.spawn(move || read(c))).collect();
        readers.into_iter().flat_map(|r| -> Vec<i64> { r.join().unwrap() }).collect()
    });
    let took = from.elapsed();
    all.sort_unstable();
    assert_eq!(all.len(), processes * threads * each);
    assert!(all.windows(2).all(|w| w[0] < w[1]), "two IDs are equal");
    println!(
        "{processes} processes with {threads} threads, {} IDs in {took:?}, all different and \
         ascending",
        all.len()
    );
    measure("default", &generator(address, "measure-default", None));
    measure("wide", &generator(address, "measure-wide", Some(128)));
    let create = Create { nodes: Some(128), ..Create::default() };
    let options = Options::new("measure-wide", [address]).create(create).fork_check(false);
    measure("wide, fork_check(false)", &options.generator().unwrap());
}

fn generator(address: &str, name: &str, nodes: Option<u32>) -> Generator {
    let addresses = address.split(',').map(str::to_owned);
    let create = Create { nodes, ..Create::default() };
    Options::new(name, addresses).create(create).generator().unwrap()
}

fn child(address: &str, threads: usize, each: usize, layout: Option<&String>) {
    let name = format!("load-{}", layout.map_or("default", String::as_str));
    let create = Create { layout: layout.cloned(), ..Create::default() };
    let g = Options::new(&name, [address]).create(create).generator().unwrap();
    let all: Vec<Vec<i64>> = scope(|s| {
        let run = || -> Vec<i64> { (0..each).map(|_| g.next(TIMEOUT).unwrap()).collect() };
        let threads: Vec<_> = (0..threads).map(|_| s.spawn(run)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let layout = g.layout(TIMEOUT).unwrap();
    let (mut nodes, mut bytes) = (Vec::new(), Vec::new());
    for ids in &all {
        assert!(ids.windows(2).all(|w| w[0] < w[1]), "IDs do not ascend");
        nodes.extend(ids.iter().map(|id| layout.decompose(*id).node));
        bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }
    nodes.sort_unstable();
    nodes.dedup();
    eprintln!("process {}: nodes {nodes:?}", std::process::id());
    std::io::stdout().write_all(&bytes).unwrap();
}

fn measure(name: &str, g: &Generator) {
    let layout = g.layout(TIMEOUT).unwrap();
    let time = |f: &mut dyn FnMut()| {
        let from = Instant::now();
        (0..LOOP).for_each(|_| f());
        from.elapsed().as_nanos() / u128::from(LOOP)
    };
    let one = time(&mut || {
        black_box(g.next(TIMEOUT).unwrap());
    });
    let plain = Mutex::new((0, 0));
    let alone = time(&mut || {
        black_box(next(&plain, &layout));
    });
    let pid = time(&mut || {
        black_box(std::process::id());
    });
    let from = Instant::now();
    (0..LOOP / 1000).for_each(|_| drop(g.next_many(1000, TIMEOUT).unwrap()));
    let many = from.elapsed().as_nanos() / u128::from(LOOP);
    println!(
        "{name}, {} counters a ms: {one} ns per ID, {many} in batches of 1000, {pid} to read the \
         process ID; plain Snowflake {alone}",
        layout.counters
    );
}

/// A Snowflake generator without a grid: the wall clock, a fixed node, and a lock.
fn next(state: &Mutex<(i64, i64)>, layout: &Layout) -> i64 {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let mut state = state.lock().unwrap();
    let mut t = clock();
    if t <= state.0 && state.1 + 1 < layout.counters {
        *state = (state.0, state.1 + 1);
    } else {
        while t <= state.0 {
            t = clock();
        }
        *state = (t, 0);
    }
    (state.0 - layout.epoch) << layout.time_shift | 7 << layout.node_shift | state.1
}
