/**
 * Follows FeedStore's changesets: for browsers and Node 18 or later, without dependencies.
 *
 * - `Replica` keeps one feed, from its changesets.
 * - `ReplicaPartition` keeps all feeds of a partition of the changesets topic, from its records.
 *
 * Both check the positions, revisions and order in a changeset, and apply either all of it or nothing. Terms and
 * rules are those of FeedStore's protocol, version 1. Positions count from 0, revisions from 1.
 *
 *     const replica = new Replica('news', { onRefetch: (it) => fetchReload(it.feed).then((text) => it.apply(text)) });
 *     const outcome = replica.apply(text);
 *     if (outcome.type === 'applied') draw(outcome.change, replica.sections);
 *
 * SPDX-License-Identifier: Apache-2.0
 */

export { ReplicaFault } from './replica/fault.js';
export { parsedWithText } from './replica/json-text.js';
export { ReplicaPartition } from './replica/partition.js';
export { Replica } from './replica/replica.js';
export { xxh32 } from './replica/xxh32.js';
