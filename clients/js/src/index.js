/** Follows FeedStore's feeds, and writes to them. SPDX-License-Identifier: Apache-2.0 */

export { FeedStore } from './store.js';
export { WriteFailed, WriteRejected } from './writes.js';
