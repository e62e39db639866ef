// event-stream.js: parsing bytes in any pieces.

import assert from 'node:assert/strict';
import test from 'node:test';
import { EventStreamParser } from '../src/event-stream.js';

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
