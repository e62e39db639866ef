import { loadDraft } from '../../src/followed-feed.js';
// Loaded on demand, which takes time of another clock; here they are there at once.
import '../../src/poll.js';
import '../../src/tokens.js';
import '../../src/write-request.js';

await loadDraft();

/** Time as a value: timers run when a test says so, in their order. */
export class Clock {
  time = 1_795_000_000_000;
  /** @type {{ at: number, run: () => void }[]} */
  #timers = [];

  now = () => this.time;
  setTimer = (run, milliseconds) => {
    const timer = { at: this.time + milliseconds, run };
    this.#timers.push(timer);
    return timer;
  };
  clearTimer = (timer) => { this.#timers = this.#timers.filter((other) => other !== timer); };
  get environment() { return { now: this.now, setTimer: this.setTimer, clearTimer: this.clearTimer }; }
  get timerCount() { return this.#timers.length; }

  /** Lets pass so much time. */
  async advance(milliseconds = 0) {
    const end = this.time + milliseconds;
    for (;;) {
      await idle();
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.clearTimer(due);
      this.time = Math.max(this.time, due.at);
      due.run();
    }
    this.time = end;
  }

  /** Later by a random time, in the order of the calls with the same key. */
  later(random, most) {
    const last = new Map();
    return (key, run) => {
      const at = Math.max(this.time + random.below(most), last.get(key) ?? 0);
      last.set(key, at);
      this.setTimer(run, at - this.time);
    };
  }
}

/** Waits until what was begun in this process has come to its end. */
async function idle() { for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate); }
