/** How all is, as the events of `GET /events` say it. Pure. */

/**
 * @typedef {{time: number, totals: object | null, topics: Map<string, object>, groups: Map<string, object>,
 *   nodes: Map<string, object>, partitions: Map<string, object>, isWhole: boolean}} Watched
 *   `isWhole`: all pages of the first snapshot are here.
 */

/** Kind to what names one of it: of what is said, and of what is said to be removed. */
const KEYS = {
  topics: [(each) => each.name, (name) => name],
  groups: [(each) => groupKey(each.group, each.topic), ([group, topic]) => groupKey(group, topic)],
  nodes: [(each) => String(each.node), (node) => String(node)],
  partitions: [(each) => `${each.topic} ${each.partition}`, ([topic, partition]) => `${topic} ${partition}`],
};

/** @returns {Watched} */
export function nothingWatched() {
  const empty = Object.fromEntries(Object.keys(KEYS).map((kind) => [kind, new Map()]));
  return { time: 0, totals: null, ...empty, isWhole: false };
}

/** @param {string} group @param {string} topic */
export function groupKey(group, topic) {
  return `${group} ${topic}`;
}

/** @param {Watched} watched @param {object} event a snapshot's page, or changes @returns {Watched} */
export function withEvent(watched, event) {
  const next = { ...(event.first ? nothingWatched() : watched), time: event.time };
  if (event.totals) next.totals = event.totals;
  if (event.last) next.isWhole = true;
  for (const [kind, [keyOf, removedKey]] of Object.entries(KEYS)) {
    const removed = event.removed?.[kind] ?? [];
    if (!event[kind] && removed.length === 0) continue;
    const all = new Map(next[kind]);
    for (const each of event[kind] ?? []) all.set(keyOf(each), each);
    for (const each of removed) all.delete(removedKey(each));
    next[kind] = all;
  }
  return next;
}
