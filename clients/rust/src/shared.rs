use crate::failure::{read, Failure};
use crate::grant::{End, Layout, Next, State};
use crate::http::{Answer, Request};
use crate::{Error, Options};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Errors that need a correction: a call without a usable grant returns them immediately (G12).
const IMMEDIATE: [&str; 6] =
    ["not_found", "conflict", "bad_request", "invalid_config", "unauthenticated", "denied"];
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The generator of one process.
pub(crate) struct Shared {
    pub(crate) options: Arc<Options>,
    pub(crate) pid: u32,
    began: Instant,
    inner: Mutex<Inner>,
    changed: Condvar, // a request has a result, or the generator ended
    pub(crate) child: OnceLock<Arc<Shared>>, // of a child process; it exists only there (G9)
}

struct Inner {
    state: State,
    address: usize, // of the next request
    ids: u64,       // since the last reply
    waits: u64,
    overdue: u32, // calls that wait since an eighth of their time; others let them pass
    closing: bool,
    copies: u64,              // counts calls of forget
    alone: bool,              // no thread renews the grant
    failure: Option<Failure>, // of the last request
}

type Guard<'a> = MutexGuard<'a, Inner>;

impl Shared {
    pub(crate) fn start(options: Arc<Options>, state: State) -> Arc<Shared> {
        let inner = Inner {
            state,
            address: 0,
            ids: 0,
            waits: 0,
            overdue: 0,
            copies: 0,
            closing: false,
            alone: true,
            failure: None,
        };
        let shared = Arc::new(Shared {
            options,
            pid: process::id(),
            began: Instant::now(),
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            child: OnceLock::new(),
        });
        if shared.options.background {
            let renewed = shared.clone();
            let name = format!("snowgrid-{}", shared.options.name.replace('\0', ""));
            // Without a thread, calls for an ID send the requests.
            let started = thread::Builder::new().name(name).spawn(move || renewed.renew());
            shared.lock().alone = started.is_err();
        }
        shared
    }

    /// Returns the generator of a new child process. A lock that a thread of the parent held at the
    /// fork is never released here, so the lock is only tried.
    pub(crate) fn forked(&self) -> Arc<Shared> {
        self.options.transport.forked();
        let mut state = State::new(Box::new(random));
        if let Ok(mut inner) = self.inner.try_lock() {
            std::mem::swap(&mut state, &mut inner.state);
            state.forked();
        }
        Shared::start(self.options.clone(), state)
    }

    fn lock(&self) -> Guard<'_> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reading of the monotonic clock in whole milliseconds.
    fn clock(&self) -> i64 {
        self.reading(Instant::now())
    }

    fn reading(&self, now: Instant) -> i64 {
        now.saturating_duration_since(self.began).as_millis() as i64
    }

    /// Returns when the clock reads so many milliseconds.
    fn instant(&self, ms: i64) -> Instant {
        self.began + Duration::from_millis(ms.max(0) as u64).min(100 * LONGEST)
    }

    pub(crate) fn make(&self, ids: &mut [i64], timeout: Duration) -> Result<(), Error> {
        let mut late = false;
        let made = self.make_or_wait(ids, timeout, &mut late);
        if late {
            self.lock().overdue -= 1;
        }
        made
    }

    /// Makes IDs; `late` reports whether the call counts in `overdue`.
    fn make_or_wait(
        &self,
        ids: &mut [i64],
        timeout: Duration,
        late: &mut bool,
    ) -> Result<(), Error> {
        let (mut end, mut waited) = (None, false);
        let mut turn = false; // a timestamp was left to it
        let mut inner = self.lock();
        for id in ids.iter_mut() {
            let mut since = None; // the clock's reading before the first wait
            *id = loop {
                if inner.closing {
                    return Err(self.ended(End::Ended));
                }
                let now = Instant::now();
                let at = self.reading(now);
                let waiting = since.map_or(0, |since| at - since);
                if !*late && waiting as u128 > timeout.as_millis() / 8 {
                    *late = true;
                    inner.overdue += 1;
                }
                let passes = *late || inner.overdue == 0;
                match if passes { inner.state.next(at) } else { Ok(Next::Wait(1)) } {
                    Ok(Next::Id(id)) => break id,
                    Ok(Next::Wait(wait)) => {
                        since.get_or_insert(at);
                        // 1 ms is a wait for a counter, not for a grant.
                        inner.waits += u64::from(!waited && wait != 1);
                        waited |= wait != 1;
                        let end = end.get_or_insert_with(|| now + timeout.min(LONGEST));
                        if *late && !turn && wait == 1 {
                            turn = true; // even if the thread runs again only after the end
                            *end = (*end).max(self.instant(at + 1));
                        }
                        inner = self.wait(inner, now, wait, *end, timeout)?;
                    }
                    Err(end) => return Err(self.ended(end)),
                }
            };
            inner.ids += 1;
            inner.overdue -= u32::from(*late);
            *late = false;
        }
        if self.request_due(&inner) && !timeout.is_zero() {
            let end = end.unwrap_or_else(|| Instant::now() + timeout.min(LONGEST));
            drop(self.request(inner, Some(end)));
        }
        Ok(())
    }

    pub(crate) fn layout(&self, timeout: Duration) -> Result<Layout, Error> {
        let end = Instant::now() + timeout.min(LONGEST);
        let mut inner = self.lock();
        loop {
            let end_of = if inner.closing { Some(End::Ended) } else { inner.state.end() };
            match (inner.state.layout(), end_of) {
                (Some(layout), _) => return Ok(layout),
                (None, Some(end)) => return Err(self.ended(end)),
                (None, None) => inner = self.wait(inner, Instant::now(), 0, end, timeout)?,
            }
        }
    }

    /// Waits until an ID may be made: for `wait` ms from the ms of `now` on, the time of the last
    /// try, or for a reply if it is 0.
    fn wait<'a>(
        &'a self,
        inner: Guard<'a>,
        now: Instant,
        wait: i64,
        end: Instant,
        timeout: Duration,
    ) -> Result<Guard<'a>, Error> {
        if self.request_due(&inner) && now < end {
            return Ok(self.request(inner, Some(end)));
        }
        if let (0, Some(f)) = (wait, &inner.failure) {
            if IMMEDIATE.contains(&f.code.as_str()) {
                let message = self.text(&format!(": {f}"), "Correct what the message names.");
                return Err(Error::Refused { code: f.code.clone(), message });
            }
        }
        if now >= end {
            return Err(self.late(inner.failure.as_ref(), wait, timeout));
        }
        let mut until = end;
        if wait > 0 {
            until = until.min(self.instant(self.reading(now) + wait));
        }
        if let (true, Some(due)) = (inner.alone, inner.state.due()) {
            until = until.min(self.instant(due));
        }
        let left = until.saturating_duration_since(Instant::now());
        let result = self.changed.wait_timeout(inner, left);
        Ok(result.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn late(&self, failure: Option<&Failure>, wait: i64, timeout: Duration) -> Error {
        let last = match failure {
            Some(f) => format!("; last error: {f}"),
            None if wait == 0 => "; no reply yet".to_owned(),
            None => String::new(),
        };
        let remedy = match wait {
            0 => {
                "Check with snowgrid status that members run at these addresses, or give a longer \
                  timeout."
                    .to_owned()
            }
            _ => format!("The next timestamp begins in {wait} ms. Give a longer timeout."),
        };
        Error::Timeout(self.text(&format!(" within {} ms{last}", timeout.as_millis()), &remedy))
    }

    fn ended(&self, end: End) -> Error {
        match end {
            End::Destroyed => Error::Destroyed(self.text(
                ": the sequencer was destroyed",
                "Make a new generator if the name was created again: it is another sequencer.",
            )),
            End::Exhausted => Error::Exhausted(self.text(
                ": its layout has no timestamps left",
                "Use a sequencer with a later epoch.",
            )),
            End::Ended => {
                Error::Ended(self.text(": the generator is closed", "Make a new generator."))
            }
        }
    }

    fn text(&self, what: &str, remedy: &str) -> String {
        let (name, addresses) = (&self.options.name, self.options.addresses.join(", "));
        format!("snowgrid: no ID of the sequencer {name:?} from {addresses}{what}. {remedy}")
    }

    /// Returns whether a call for an ID has to send a request.
    fn request_due(&self, inner: &Inner) -> bool {
        inner.alone && !inner.closing && inner.state.due().is_some_and(|due| due <= self.clock())
    }

    /// Renews the grant until the generator ends.
    fn renew(&self) {
        let mut inner = self.lock();
        while !inner.closing && inner.state.end().is_none() {
            let now = Instant::now();
            let due = inner.state.due().map(|due| self.instant(due));
            inner = match due {
                Some(due) if due <= now => self.request(inner, None),
                _ => {
                    let wait = due.map_or(LONGEST, |due| due - now);
                    self.changed.wait_timeout(inner, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Sends a request, at most until the end, and applies its result. The lock is released
    /// meanwhile.
    fn request<'a>(&'a self, mut inner: Guard<'a>, end: Option<Instant>) -> Guard<'a> {
        let grant = inner.state.request(self.clock());
        let (copies, ids, waits) = (inner.copies, inner.ids, inner.waits);
        let to = self.options.addresses[inner.address].as_str();
        drop(inner);
        let body = self.options.body(&grant, ids, waits);
        let left = end.map_or(LONGEST, |end| end.saturating_duration_since(Instant::now()));
        let result = self.send("POST", to, &body, left).and_then(|answer| read(to, &answer));
        let mut inner = self.lock();
        if inner.copies != copies {
            return inner; // the result belongs to the original (G9)
        }
        let at = self.clock();
        match result {
            Ok(reply) => {
                inner.state.replied(at, reply);
                inner.ids -= ids;
                inner.waits -= waits;
                inner.failure = None;
            }
            Err(f) => {
                inner.state.refused(at, &f.code, f.retry_after);
                inner.address = (inner.address + 1) % self.options.addresses.len();
                // If the caller's deadline cut the request short, an earlier error says more.
                if !f.code.is_empty()
                    || left >= self.options.call_timeout
                    || inner.failure.is_none()
                {
                    inner.failure = Some(f);
                }
            }
        }
        self.changed.notify_all();
        inner
    }

    fn send(&self, method: &str, to: &str, body: &str, left: Duration) -> Result<Answer, Failure> {
        let call = || {
            let token = self.options.token.as_ref().map(|token| token()).transpose()?;
            self.options.transport.send(&Request {
                method,
                base: to,
                path: "/v1/grants",
                token: token.as_deref(),
                body,
                timeout: left.min(self.options.call_timeout).max(Duration::from_millis(1)),
            })
        };
        let text = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(e)) => format!("{to}: {e}"),
            Err(_) => format!("{to}: the transport panicked"),
        };
        Err(Failure { code: String::new(), text, retry_after: 0 })
    }

    pub(crate) fn forget(&self) {
        let mut inner = self.lock();
        inner.state.forked();
        inner.failure = None;
        inner.copies += 1;
        drop(inner);
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        if inner.closing {
            return;
        }
        inner.closing = true;
        self.changed.notify_all();
        let end = Instant::now() + self.options.call_timeout;
        while inner.state.end().is_none() && inner.state.due().is_none() {
            // A request in progress may bring a newer grant (G10).
            let left = end.saturating_duration_since(Instant::now());
            let wait = left.saturating_sub(self.options.call_timeout / 2);
            if wait.is_zero() {
                break;
            }
            let result = self.changed.wait_timeout(inner, wait);
            inner = result.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (grant, last) = inner.state.release();
        let (ids, waits, first) = (inner.ids, inner.waits, inner.address);
        drop(inner);
        if grant.is_empty() {
            return;
        }
        let body = Options::release(&grant, last, ids, waits);
        let addresses = &self.options.addresses;
        for i in 0..addresses.len() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let to = &addresses[(first + i) % addresses.len()];
            match self.send("DELETE", to, &body, left / (addresses.len() - i) as u32) {
                Ok(a) if a.status < 500 && a.status != 421 && a.status != 429 => return,
                _ => {} // at the next address
            }
        }
    }
}

/// Returns a number from 0 to below - 1.
pub(crate) fn random(below: i64) -> i64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(process::id());
    (hasher.finish() % below.max(1) as u64) as i64
}
