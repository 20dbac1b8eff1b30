//! The rules G1 to G12 of docs/grants.md, and nothing else: no I/O, clock or threads.
//!
//! Times are whole milliseconds: `at` is a reading of the monotonic clock, and a timestamp is Unix
//! time. [`crate::Generator`] drives a [`State`]; a program needs it only for a loop of its own.

use crate::json::Value;
use std::collections::VecDeque;

const TIMES_MAX: usize = 10; // replies whose times count (G2)
const TIMES_FOR: i64 = 60_000; // ms for which the time of a reply counts after it (G2)
const FIRST_PAUSE: i64 = 300; // ms, after a failure (G8)
const LAST_PAUSE: i64 = 3000; // ms
const EXACT: i64 = (1 << 53) - 1; // the largest number of a reply

/// The layout of a sequencer's IDs. IDs have times from `epoch` on and before `ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Unix milliseconds of the first timestamp.
    pub epoch: i64,
    /// Bits of the node and the counter.
    pub time_shift: u32,
    /// Bits of the counter.
    pub node_shift: u32,
    /// IDs of a node in a millisecond.
    pub counters: i64,
    /// Unix milliseconds after the last timestamp.
    pub ends: i64,
}

/// The parts of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Unix milliseconds.
    pub time: i64,
    /// The logical node.
    pub node: i64,
    /// The number among the IDs of the node in this millisecond.
    pub counter: i64,
}

impl Layout {
    /// Returns the parts of an ID.
    pub fn decompose(&self, id: i64) -> Parts {
        Parts {
            time: self.epoch + (id >> self.time_shift),
            node: (id & ((1 << self.time_shift) - 1)) >> self.node_shift,
            counter: id & ((1 << self.node_shift) - 1),
        }
    }

    /// Returns the smallest possible ID of a time. A time outside the layout counts as its nearest
    /// millisecond.
    pub fn min_id(&self, time: i64) -> i64 {
        (time.min(self.ends - 1).max(self.epoch) - self.epoch) << self.time_shift
    }

    /// Returns the largest possible ID of a time. A time outside the layout counts as its nearest
    /// millisecond.
    pub fn max_id(&self, time: i64) -> i64 {
        self.min_id(time) | ((1 << self.time_shift) - 1)
    }
}

/// The reply to `POST /v1/grants`.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The text to send back.
    pub grant: String,
    /// The logical node.
    pub node: i64,
    /// The layout.
    pub layout: Layout,
    /// The first timestamp of the grant.
    pub from: i64,
    /// The end of the grant.
    pub until: i64,
    /// The grid's time.
    pub now: i64,
    /// When to send the next request, in ms.
    pub renew_in: i64,
}

impl Reply {
    /// Reads a reply. The error names a field that is absent or out of range.
    pub fn read(value: &Value) -> Result<Reply, String> {
        let number = |name: &str, max: i64| match value.get(name) {
            Some(Value::Int(n)) if (0..=max).contains(n) => Ok(*n),
            other => Err(format!("the reply has {name} {other:?}, expected 0 to {max}")),
        };
        let grant = value.text("grant").unwrap_or_default().to_owned();
        if grant.is_empty() {
            return Err("the reply has no grant".to_owned());
        }
        let time_shift = number("time_shift", 62)?;
        let node_shift = number("node_shift", time_shift)?;
        let layout = Layout {
            epoch: number("epoch", EXACT)?,
            time_shift: time_shift as u32,
            node_shift: node_shift as u32,
            counters: number("counters", 1 << node_shift)?,
            ends: number("ends", EXACT)?,
        };
        Ok(Reply {
            grant,
            node: number("node", (1 << (time_shift - node_shift)) - 1)?,
            layout,
            from: number("from", EXACT)?,
            until: number("until", EXACT)?,
            now: number("now", EXACT)?,
            renew_in: number("renew_in_ms", EXACT)?,
        })
    }
}

/// Why no ID will ever be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sequencer was destroyed.
    Destroyed,
    /// The layout has no timestamps left.
    Exhausted,
    /// The grant was released.
    Ended,
}

/// The result of a call for an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An ID.
    Id(i64),
    /// No ID for so many ms; 0 until a reply.
    Wait(i64),
}

/// A range of timestamps of one node: from <= t < until.
struct Span {
    node: i64,
    from: i64,
    until: i64,
}

/// The time that a reply showed when it was received: the grid's time minus `at`.
struct Reading {
    at: i64,
    offset: i64,
}

/// A random number from 0 to its argument - 1.
pub type Jitter = Box<dyn FnMut(i64) -> i64 + Send>;

/// Makes the IDs of one process under one grant.
pub struct State {
    jitter: Jitter,
    grant: String,
    layout: Option<Layout>,   // of the last reply
    spans: VecDeque<Span>,    // in the order of their use
    times: VecDeque<Reading>, // of the last replies
    ahead: i64,               // the grid's time is at and this (G2)
    due: i64,                 // when to send the next request
    pause: i64,               // after the next failure
    asked: bool,              // a request has no result yet
    last: i64,                // timestamp of the last ID
    node: i64,                // of the last ID
    counter: i64,             // the next one in that timestamp
    end: Option<End>,
}

impl State {
    /// Returns a state without a grant.
    pub fn new(jitter: Jitter) -> State {
        State {
            jitter,
            grant: String::new(),
            layout: None,
            spans: VecDeque::new(),
            times: VecDeque::new(),
            ahead: 0,
            due: 0,
            pause: FIRST_PAUSE,
            asked: false,
            last: -1,
            node: -1,
            counter: 0,
            end: None,
        }
    }

    /// Returns when the next request is to be sent (G8); `None` while one is in progress, and after
    /// the end.
    pub fn due(&self) -> Option<i64> {
        (!self.asked && self.end.is_none()).then_some(self.due)
    }

    /// Returns why the state has ended.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns the layout of the last reply.
    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// Returns the timestamp of the last ID, -1 for none.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// Returns the grant to send, "" to take one.
    pub fn request(&mut self, at: i64) -> String {
        self.asked = true;
        self.due = at;
        self.grant.clone()
    }

    /// Applies a reply that was received at a time.
    pub fn replied(&mut self, at: i64, r: Reply) {
        self.asked = false;
        self.pause = FIRST_PAUSE;
        if self.end.is_some() {
            return;
        }
        self.grant = r.grant;
        self.layout = Some(r.layout);
        self.due = at + r.renew_in;
        self.times.retain(|t| t.at >= at - TIMES_FOR);
        self.times.push_back(Reading { at, offset: r.now - at });
        if self.times.len() > TIMES_MAX {
            self.times.pop_front();
        }
        self.ahead = self.times.iter().map(|t| t.offset).max().unwrap_or(0);
        let now = at + self.ahead;
        self.spans.retain(|s| s.until > now || s.until > r.from);
        match self.spans.back_mut() {
            // No gap (G7).
            Some(s) if s.node == r.node && r.from <= s.until => {
                s.until = s.until.max(r.until); // G5
            }
            _ if r.from < r.until => {
                self.spans.push_back(Span { node: r.node, from: r.from, until: r.until });
                // G6
            }
            _ => {}
        }
    }

    /// Applies a request that got no grant (G8, G12): `code` is the error code, "" without a reply.
    pub fn refused(&mut self, at: i64, code: &str, retry_after: i64) {
        self.asked = false;
        match code {
            "destroyed" => self.end = Some(End::Destroyed),
            "detached" => {
                // It was released (G10).
                self.grant.clear();
                self.spans.clear();
            }
            _ => {}
        }
        self.due = at + retry_after.max(self.pause - (self.jitter)(self.pause / 2));
        self.pause = (2 * self.pause).min(LAST_PAUSE);
    }

    /// Returns an ID, or the time to wait before the next try.
    pub fn next(&mut self, at: i64) -> Result<Next, End> {
        if let Some(end) = self.end {
            return Err(end);
        }
        let now = at + self.ahead;
        let Some(layout) = self.layout else {
            return Ok(Next::Wait(0));
        };
        while let Some(s) = self.spans.front() {
            let (mut t, mut c) = (now.max(s.from), 0);
            if t <= self.last {
                if s.node == self.node && self.counter < layout.counters {
                    (t, c) = (self.last, self.counter); // G3, G4
                } else {
                    t = self.last + 1;
                }
            }
            if t >= s.until {
                self.spans.pop_front(); // G1
                continue;
            }
            if t >= layout.ends {
                return Err(End::Exhausted);
            }
            if t > now && t != self.last {
                return Ok(Next::Wait(t - now)); // G3
            }
            (self.last, self.node, self.counter) = (t, s.node, c + 1);
            let id = (t - layout.epoch) << layout.time_shift | s.node << layout.node_shift | c;
            return Ok(Next::Id(id));
        }
        Ok(Next::Wait(0))
    }

    /// Forgets the grant: it belongs to the process that this one is a copy of (G9).
    pub fn forked(&mut self) {
        let jitter = std::mem::replace(&mut self.jitter, Box::new(|_| 0));
        *self = State { last: self.last, end: self.end, ..State::new(jitter) };
    }

    /// Ends the generator. Returns the grant to release, "" for none, and the timestamp of the last
    /// ID, 0 for none (G10).
    pub fn release(&mut self) -> (String, i64) {
        self.spans.clear();
        self.end = Some(End::Ended);
        (std::mem::take(&mut self.grant), self.last.max(0))
    }
}
