/**
 * Explains why the planner published a changeset as it did, from the changeset and the configuration: which threshold
 * the difference was below or above.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { bytes, count, counted, percent } from './format.js';

/**
 * @typedef {{ delete: number, insert: number, move: number, reconfigure: number, reload: number }} Counts
 *
 * How two states compare: numbers of items that were inserted, deleted, or changed their kind.
 * @typedef {{ inserted: number, deleted: number, kinds: number }} Comparison
 *
 * @typedef {object} Published
 * @property {'reconfigure' | 'diff' | 'reload' | 'delete'} mode
 * @property {string} [reason]
 * @property {Counts} sections Entries.
 * @property {Counts} items
 * @property {number} itemsBefore
 * @property {number} itemsAfter
 * @property {number} bytes
 * @property {Comparison} [comparison] For a reload after a known state.
 * @property {Partial<Plan>} [plan] The planner's figures from the header `feedstore.plan`.
 *
 * @typedef {Record<typeof thresholdNames[number], number>} Thresholds
 * @typedef {Record<typeof figures[number], number>} Plan
 */

const thresholdNames = /** @type {const} */ ([
  'maxChanges', 'maxChangedFraction', 'minimumItems', 'maxKindFraction', 'maxReloadRatio', 'maxBytesRatio',
]);
const figures = /** @type {const} */ ([...thresholdNames, 'weight', 'differenceBytes', 'reloadBytes']);

/**
 * When changesets are reloads.
 * @param {Thresholds} thresholds
 */
export const explainThresholds = (thresholds) => [
  `A changeset is published as a reload if it has more than ${counted(thresholds.maxChanges, 'change')}; if, in a feed of at least`,
  `${counted(thresholds.minimumItems, 'item')}, more than ${percent(thresholds.maxChangedFraction)} of the items change or more than`,
  `${percent(thresholds.maxKindFraction)} get a new kind; or if the difference would have more than ${thresholds.maxBytesRatio} times`,
  `the bytes of the reload. The number of changes does not count if the reload has more than ${thresholds.maxReloadRatio} times the`,
  'bytes of the difference.',
].join(' ');

/**
 * @param {Published} published
 * @param {Thresholds | undefined} thresholds Unknown until the status has been read.
 * @returns {string} A sentence or two.
 */
export function explain(published, thresholds) {
  const plan = isPlan(published.plan) ? published.plan : undefined;
  return explainMode(published, plan ?? thresholds) + (plan === undefined ? '' : ` ${comparedSizes(plan)}`);
}

/** @param {Partial<Plan> | undefined} plan @returns {plan is Plan} */
const isPlan = (plan) => typeof plan === 'object' && plan !== null
  && figures.every((name) => typeof plan[name] === 'number');

/** @param {Plan} plan */
const comparedSizes = ({ differenceBytes, reloadBytes }) =>
  `${bytes(differenceBytes)} as a difference, ${bytes(reloadBytes)} as a reload.`;

/** @param {Published} published @param {Thresholds | undefined} thresholds */
function explainMode(published, thresholds) {
  switch (published.mode) {
    case 'reconfigure': return 'Only data changed, so clients can keep every cell. Such a changeset is never a reload, however large it is.';
    case 'delete': return 'The feed was deleted.';
    case 'reload': return explainReload(published, thresholds);
    default: return explainDifference(published, thresholds);
  }
}

/**
 * The entries that the planner weighs.
 * @param {Published} published
 */
export const weightOf = ({ sections, items }) => [sections, items]
  .reduce((sum, counts) => sum + counts.delete + counts.insert + counts.move + counts.reload, 0);

/** @param {Published} published @param {Thresholds | undefined} thresholds */
function explainDifference(published, thresholds) {
  const weight = weightOf(published);
  const items = Math.max(published.itemsBefore, published.itemsAfter);
  if (thresholds === undefined) return `${counted(weight, 'change')} in a feed of ${counted(items, 'item')}.`;
  const { minimumItems, maxChangedFraction, maxChanges, maxReloadRatio } = thresholds;
  if (items < minimumItems) {
    return `${counted(weight, 'change')} in ${counted(items, 'item')}: in a feed of fewer than ${count(minimumItems)} `
      + 'a difference may change any part.';
  }
  // A few items can have many changes: sections count, too, and an item can be both moved and reloaded.
  const share = percent(weight / items);
  const limit = maxChanges < items * maxChangedFraction ? counted(maxChanges, 'change') : percent(maxChangedFraction);
  const isMuch = weight > maxChanges || weight / items > maxChangedFraction;
  return `${counted(weight, 'change')} in ${counted(items, 'item')} ${weight === 1 ? 'is' : 'are'} ${share}; `
    + (isMuch ? `that is above ${limit}, but a reload would have more than ${maxReloadRatio} times the bytes.`
      : `above ${limit} it would be a reload.`);
}

/** @param {Published} published @param {Thresholds | undefined} thresholds */
function explainReload({ reason, itemsBefore, itemsAfter, comparison, bytes: size }, thresholds) {
  const items = Math.max(itemsBefore, itemsAfter);
  const { maxChanges, maxChangedFraction, maxKindFraction, maxBytesRatio } = thresholds ?? {};
  /** @param {number | undefined} value @param {(value: number) => string} spell */
  const known = (value, spell) => (value === undefined ? 'the threshold' : spell(value));
  switch (reason) {
    case 'initial':
      return `The feed was created with ${counted(itemsAfter, 'item')}: there is nothing to compare with.`;
    case 'requested': return 'A producer requested it with feed.reload.';
    case 'disjoint':
      return itemsBefore > 0
        ? `None of the ${counted(itemsBefore, 'item')} before the change is among the ${counted(itemsAfter, 'item')} after it.`
        : 'The feed has no item from before the change.';
    case 'changes':
      return `There were more changes than ${known(maxChanges, count)}${compared(comparison)}.`;
    case 'fraction':
      return `Changes were more than ${known(maxChangedFraction, percent)} of ${counted(items, 'item')}`
        + `${compared(comparison)}.`;
    case 'kinds': {
      const changed = comparison === undefined ? '' : `: ${count(comparison.kinds)} of ${counted(itemsAfter, 'item')}`;
      return `More than ${known(maxKindFraction, percent)} of the items changed their kind${changed}.`;
    }
    case 'bytes':
      return `A difference would have been longer than ${known(maxBytesRatio, String)} times this reload of `
        + `${bytes(size)}.`;
    case 'keyframe':
      return 'It repeats the feed for late joiners, and keeps the topic small. Nothing changed.';
    default: return `Reason: ${reason ?? 'none was given'}.`;
  }
}

/** @param {Comparison | undefined} comparison */
function compared(comparison) {
  if (comparison === undefined) return '';
  const parts = [
    comparison.inserted && `${count(comparison.inserted)} new`,
    comparison.deleted && `${count(comparison.deleted)} gone`,
    comparison.kinds && `${count(comparison.kinds)} of another kind`,
  ].filter(Boolean);
  return parts.length === 0 ? ': only the order changed' : `: ${parts.join(', ')}, and what was moved`;
}
