// replica.js as a command for `conformance/run.py replica`: reads records, and writes the states of their feeds.

import { createInterface } from 'node:readline';
import { ReplicaFault, ReplicaPartition } from '../../src/replica.js';

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
  const follower = new Follower();
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(follower.apply(JSON.parse(line)).state));
  }
}
