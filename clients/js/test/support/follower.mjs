import { ReplicaPartition } from '../../src/replica.js';

/** The content of a replica, as plain values. */
export const contentOf = (replica) => JSON.parse(JSON.stringify(replica.sections));

/** A reload with a replica's content: a server's response to a request for the feed. */
export function reloadOf(replica) {
  const { feed, epoch, revision, time, through, checksum } = replica;
  return {
    feed, epoch, revision, base: revision, mode: 'reload', reason: 'keyframe', time, through, checksum,
    sections: contentOf(replica),
  };
}

/** The replicas of all partitions. */
export class Follower {
  #partitions = new Map();

  /** Applies a line of a replay's output. */
  apply({ partition, key, value }) {
    if (!this.#partitions.has(partition)) this.#partitions.set(partition, new ReplicaPartition());
    return this.#partitions.get(partition).apply(key, value);
  }

  get replicas() { return [...this.#partitions.values()].flatMap((partition) => partition.replicas); }

  replica(feed) { return this.replicas.find((replica) => replica.feed === feed); }
}
