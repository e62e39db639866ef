// event-stream.js: parsing bytes in any pieces, and reconnecting.

import assert from 'node:assert/strict';
import test from 'node:test';
import { EventStream, EventStreamParser } from '../src/event-stream.js';

const encoder = new TextEncoder();

/** The events in pieces of bytes. */
function parsed(pieces) {
  const events = [];
  const retries = [];
  const parser = new EventStreamParser({
    onEvent: (event) => events.push(event), onRetry: (milliseconds) => retries.push(milliseconds),
  });
  for (const piece of pieces) parser.push(piece);
  return { events, retries, lastEventId: parser.lastEventId };
}

/** @param {string} text */
const parsedText = (text) => parsed([encoder.encode(text)]);

const messages = (text) => parsedText(text).events.map(({ name, data, id }) => [name, data, id]);

test('fields are parsed as the standard requires', () => {
  assert.deepEqual(messages('data: one\n\n'), [['message', 'one', '']]);
  assert.deepEqual(messages('data:one\ndata:  two\ndata\n\n'), [['message', 'one\n two\n', '']], 'several lines');
  assert.deepEqual(messages('event: moved\nid: a@1\ndata: {}\n\n'), [['moved', '{}', 'a@1']]);
  assert.deepEqual(messages(': comment\n:\ndata: one\n: another\n\n'), [['message', 'one', '']]);
  assert.deepEqual(messages('unknown: x\nnothing\ndata: a:b\n\n'), [['message', 'a:b', '']]);
  assert.deepEqual(messages('\ufeffdata: one\n\n'), [['message', 'one', '']], 'a byte order mark');
  assert.deepEqual(messages('data: one\n'), [], 'an event that has not ended');
  assert.deepEqual(messages('event: lost\n\ndata: one\n\n'), [['message', 'one', '']], 'a name without data');
});

test('an id remains until the next one', () => {
  const text = 'id: 1\ndata: a\n\ndata: b\n\nid: 2\n\nid: 3\u00004\ndata: c\n\nid\ndata: d\n\n';
  assert.deepEqual(messages(text).map(([, data, id]) => [data, id]), [['a', '1'], ['b', '1'], ['c', '2'], ['d', '']]);
  assert.equal(parsedText('id: 7\ndata: a\n\nid: 8\n').lastEventId, '7', 'an event that has not ended gives no id');
});

test('a retry time has only digits', () => {
  assert.deepEqual(parsedText('retry: 3000\nretry:20\nretry: 1.5\nretry: -1\nretry: soon\nretry\n\n').retries, [3000, 20]);
});

const long = [
  '\ufeffretry: 3000\n\n', 'id: feeds.items/1@7\r\ndata: {"é":"\u{1f600}"}\r\n\r\n', ': heartbeat\r\r', 'event: up-to-date\rdata: 1\r\r',
  'data: a\ndata: b\r\ndata: c\rdata: d\n\n', `data: ${'x'.repeat(300)}\n\n`, 'id: 8\ndata: \n\n',
].join('');

test('the split of the bytes does not matter', () => {
  const bytes = encoder.encode(long);
  const whole = parsed([bytes]);
  assert.deepEqual(whole.events.map(({ name, data }) => [name, data.length > 9 ? data.length : data]), [
    ['message', '{"é":"\u{1f600}"}'.length], ['up-to-date', '1'], ['message', 'a\nb\nc\nd'], ['message', 300], ['message', ''],
  ]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    assert.deepEqual(parsed([bytes.subarray(0, cut), bytes.subarray(cut)]), whole, `cut at ${cut}`);
  }
  assert.deepEqual(parsed([...bytes].map((byte) => Uint8Array.of(byte))), whole, 'each byte for itself');
  for (const end of ['\n', '\r', '\r\n']) {
    const text = 'id: 1\ndata: a\ndata: b\n\nevent: c\ndata: d\n\n'.replaceAll('\n', end);
    const pieces = [...encoder.encode(text)].map((byte) => Uint8Array.of(byte));
    assert.deepEqual(parsed(pieces).events.map(({ data }) => data), ['a\nb', 'd'], JSON.stringify(end));
  }
});

/** Waits for a condition that the program itself fulfils. */
async function becomes(condition, what) {
  for (let turn = 0; turn < 10000; turn++) {
    if (condition()) return;
    await new Promise(setImmediate);
  }
  assert.fail(`waited for: ${what}`);
}

/** A stream with a test server and a test clock. */
class Scene {
  requests = [];
  states = [];
  events = [];
  timers = [];

  constructor(options = {}) {
    this.stream = new EventStream('/changes', {
      fetch: (url, { method, headers, body, signal }) => new Promise((resolve, reject) => {
        const answer = (status, fields, body) => resolve(new Response(body ?? null, { status, headers: fields }));
        signal.addEventListener('abort', () => reject(signal.reason));
        this.requests.push({ url, method, headers, body, signal, answer, fail: () => reject(new TypeError('network')) });
      }),
      random: () => 0,
      setTimer: (run, milliseconds) => {
        const timer = { run, milliseconds };
        this.timers.push(timer);
        return timer;
      },
      clearTimer: (timer) => { this.timers = this.timers.filter((other) => other !== timer); },
      onEvent: (event) => this.events.push(event.data),
      onState: (state) => this.states.push(state),
      ...options,
    });
  }

  get request() { return this.requests.at(-1); }

  /** Answers the latest request with a stream. */
  accept() {
    let controller;
    const body = new ReadableStream({ start: (it) => { controller = it; } });
    const { signal } = this.request;
    signal.addEventListener('abort', () => controller.error(signal.reason));
    this.request.answer(200, { 'content-type': 'text/event-stream' }, body);
    return {
      send: (text) => controller.enqueue(encoder.encode(text)),
      end: () => controller.close(),
      break: () => controller.error(new TypeError('network')),
    };
  }

  /** Waits until this is the latest state. */
  async until(state) {
    await becomes(() => this.states.at(-1)?.state === state, state);
    return this.states.at(-1);
  }

  untilReceived(count) { return becomes(() => this.events.length >= count, `${count} events`); }

  /** Ends the stream's current wait, and returns its length. */
  elapse() {
    assert.equal(this.timers.length, 1);
    const [{ run, milliseconds }] = this.timers.splice(0);
    run();
    return milliseconds;
  }
}

test('it reconnects with the last id, after the retry time of the server', async () => {
  const scene = new Scene({ headers: () => ({ Authorization: 'Bearer x' }) });
  scene.stream.open();
  assert.equal(scene.request.headers.Authorization, 'Bearer x');
  assert.ok(!('Last-Event-ID' in scene.request.headers));
  let server = scene.accept();
  server.send('retry: 50\n\nid: e@1\ndata: a\n\nid: e@2\ndata: b');
  await scene.untilReceived(1);
  server.break();
  await scene.until('waiting');
  assert.equal(scene.elapse(), 50);
  assert.equal(scene.request.headers['Last-Event-ID'], 'e@1');
  server = scene.accept();
  server.send('data: c\n\n');
  await scene.untilReceived(2);
  server.end();
  await scene.until('waiting');
  assert.equal(scene.elapse(), 50);
  assert.equal(scene.request.headers['Last-Event-ID'], 'e@1');
  scene.stream.restart({ isPatient: false });
  assert.ok(!('Last-Event-ID' in scene.request.headers));
  scene.stream.close();
  assert.equal((await scene.until('closed')).state, 'closed');
  assert.deepEqual(scene.timers, []);
});

test('a request with a body says there where to continue', async () => {
  let revision = 1;
  const scene = new Scene({ body: () => JSON.stringify({ revision: revision++ }) });
  scene.stream.open();
  const server = scene.accept();
  server.send('id: e@1\ndata: a\n\n');
  await scene.untilReceived(1);
  server.end();
  await scene.until('waiting');
  scene.elapse();
  assert.deepEqual(scene.requests.map(({ method, body }) => [method, body]), [['POST', '{"revision":1}'], ['POST', '{"revision":2}']]);
  assert.equal(scene.request.headers['Content-Type'], 'application/json');
  assert.ok(!('Last-Event-ID' in scene.request.headers));
  scene.stream.close();
});

test('delays grow with each failure, up to a maximum', async () => {
  const scene = new Scene();
  scene.stream.open();
  const delays = [];
  for (let round = 0; round < 6; round++) {
    scene.request.fail();
    await scene.until('waiting');
    delays.push(scene.elapse());
  }
  assert.deepEqual(delays, [3000, 6000, 12000, 24000, 30000, 30000]);
  // A stream that ends without a message is a failure, too.
  scene.accept().end();
  await scene.until('waiting');
  assert.equal(scene.elapse(), 30000);
  const server = scene.accept();
  server.send('data: a\n\n');
  await scene.untilReceived(1);
  server.end();
  await scene.until('waiting');
  assert.equal(scene.elapse(), 3000);
});

test('a stream that had events for five seconds is opened again at once, if it can be', async () => {
  let time = 0;
  const scene = new Scene({ now: () => time, random: () => 1 });
  scene.stream.open();
  let count = 0;
  for (const [lasts, expected] of [[5000, 50], [4999, 3750], [60_000, 50]]) {
    const server = scene.accept();
    await scene.until('open');
    // A while without an event does not count.
    time += 10_000;
    server.send('data: a\n\n');
    await scene.untilReceived(++count);
    time += lasts;
    server.end();
    await scene.until('waiting');
    assert.equal(scene.elapse(), expected);
  }
  for (const expected of [3750, 7500]) {
    scene.request.fail();
    await scene.until('waiting');
    assert.equal(scene.elapse(), expected);
  }
  scene.stream.close();
});

test('a response that is not a stream is reported', async () => {
  let random = 0;
  const scene = new Scene({ random: () => random });
  scene.stream.open();
  scene.request.answer(503, { 'retry-after': '7' }, '{"code":"restoring"}');
  let state = await scene.until('waiting');
  assert.deepEqual([state.status, state.problem], [503, { code: 'restoring' }]);
  assert.equal(scene.elapse(), 7000);
  random = 1;
  const cases = [['20', 25_000], ['7', 15_000], ['999999999', 375_000], ['-7', 37_500], ['Sat, 1 Jan 2000 00:00:00 GMT', 37_500]];
  for (const [after, expected] of cases) {
    scene.request.answer(503, { 'retry-after': after });
    await scene.until('waiting');
    assert.equal(scene.elapse(), expected, after);
  }
  scene.request.answer(200, { 'content-type': 'text/html' }, '<p>');
  state = await scene.until('waiting');
  assert.deepEqual([state.status, state.problem], [200, undefined]);
  scene.elapse();
  scene.request.answer(401, {}, '{"code":"token-needed"}');
  assert.equal((await scene.until('refused')).status, 401);
  assert.deepEqual(scene.timers, [], 'it does not come again by itself');
});

test('a silent connection is closed', async () => {
  const scene = new Scene({ silence: 1234 });
  scene.stream.open();
  const server = scene.accept();
  server.send('data: a\n\n');
  await scene.untilReceived(1);
  assert.equal(scene.elapse(), 1234);
  await scene.until('waiting');
  assert.ok(scene.request.signal.aborted);
  scene.elapse();
  assert.equal(scene.requests.length, 2);
  // A request without a response as well.
  assert.equal(scene.elapse(), 1234);
  await scene.until('waiting');
});

test('a closed connection delivers no events', async () => {
  const scene = new Scene({ onEvent: (event) => {
    scene.events.push(event.data);
    scene.stream.close();
  } });
  scene.stream.open();
  const server = scene.accept();
  server.send('data: a\n\ndata: b\n\n');
  await scene.until('closed');
  await new Promise(setImmediate);
  assert.deepEqual(scene.events, ['a']);
  assert.deepEqual(scene.timers, []);
});
