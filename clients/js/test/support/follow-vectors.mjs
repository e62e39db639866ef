// replica.js as a command for `conformance/run.py`, with `replica` and `window`: reads records or messages, and writes the states of their feeds.

import { createInterface } from 'node:readline';
import { Replica, ReplicaFault, ReplicaPartition } from '../../src/replica.js';

/** Bytes that are not UTF-8 are refused, as no parser of JSON takes them. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Replicas of all partitions, from records in the form of the vectors. */
export class Follower {
  #partitions = new Map();

  /** The state of a record's feed after it, and the outcome. */
  apply(line) {
    const partition = this.#partitions.get(line.partition) ?? new ReplicaPartition();
    this.#partitions.set(line.partition, partition);
    let type = 'refused';
    try {
      ({ type } = partition.apply(line.key, valueOf(line)));
    } catch (error) {
      if (!(error instanceof ReplicaFault)) throw error;
    }
    const replica = partition.replica(line.key.slice(line.key.indexOf('/') + 1));
    const { epoch = null, revision, checksum, sections, isStale = false, isWaiting = false } = replica ?? {};
    const state = { epoch, stale: isStale, waiting: isWaiting };
    return { type, state: epoch === null ? state : { ...state, revision, checksum, sections } };
  }
}

/** Replicas of windows, from messages of a stream in the form of the vectors. */
export class WindowFollower {
  #replicas = [];

  /** The replica that a message is for. The vectors do not name partitions: where two have feeds of one id, their epochs differ. */
  #replicaOf({ feed, epoch }) {
    const all = this.#replicas.filter((replica) => replica.feed === feed);
    const found = all.find((replica) => epoch === undefined || replica.epoch === epoch) ?? all.find(({ version }) => version === null);
    if (found === undefined) this.#replicas.push(new Replica(feed));
    return found ?? this.#replicas.at(-1);
  }

  /** The state of a message's feed after it. */
  apply({ event, data }) {
    const value = JSON.parse(data);
    const replica = this.#replicaOf(value);
    let type = event;
    if (event === 'message') ({ type } = replica.apply(data));
    else if (event === 'window') replica.applyTotals(value);
    else replica.expectReload();
    // What it shows until the reload comes is of before.
    if (replica.version === null) return { type, state: { epoch: null } };
    const { epoch, revision, checksum, sections } = replica;
    const window = sections.map(({ id, from, items, of }) => ({ section: id, from, shown: items.length, of }));
    return { type, state: { epoch, revision, checksum, sections, window } };
  }
}

/** What a reader of a topic passes on. */
function valueOf(line) {
  if (!('payloadBase64' in line)) return line.payload;
  try {
    return utf8.decode(Buffer.from(line.payloadBase64, 'base64'));
  } catch {
    return '';
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [records, messages] = [new Follower(), new WindowFollower()];
  for await (const text of createInterface({ input: process.stdin })) {
    const line = JSON.parse(text);
    console.log(JSON.stringify(('event' in line ? messages : records).apply(line).state));
  }
}
