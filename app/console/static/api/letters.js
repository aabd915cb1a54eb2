/** Dead letters that a group has not handled. Nothing is leased. */

import { forward } from "./browse.js";
import { inTurn } from "./in_turn.js";
import { get, getExactly, path } from "./server.js";

const SETTLED = new Set(["done", "deadLettered", "passedOver", "expired"]);
/** So many pages of the log are looked at until one holds such a letter; then whoever looks says whether to go on. */
const PAGES_LOOKED_MAX = 4;
const NONE = { items: [] };

/** The next letters that are not handled, the oldest first: from the group's progress on, or behind a page.
 * @param {string} group @param {string} topic @param {AbortSignal} signal
 * @param {Map<number, import("./browse.js").Cursor>} [behind] `next` of the page before
 * @returns {Promise<import("./use_pages.js").ListingPage<object>>} */
export async function readLetters(group, topic, signal, behind) {
  let cursors = behind ?? (await startOf(group, topic, signal));
  for (let pages = 1; cursors.size > 0; pages += 1) {
    const page = await forward({ topic, filter: "", cursors, signal });
    const letters = await unhandled(page.messages, group, signal);
    const next = page.isAtEnd ? undefined : page.cursors;
    if (letters.length > 0 || page.firstProblem || next === undefined || pages === PAGES_LOOKED_MAX) {
      return { items: letters, next, problem: page.firstProblem };
    }
    cursors = next;
  }
  return NONE;
}

/** Where there may be letters: partitions in which the group has done all are left out. Nothing where there is no topic. */
async function startOf(group, topic, signal) {
  const found = await get(path`topics/${topic}`, {}, signal).catch((problem) => {
    if (problem.code === "TOPIC_NOT_FOUND") return null;
    throw problem;
  });
  if (found === null) return new Map();
  const { offsets } = await get(path`groups/${group}/offsets`, { topic }, signal);
  const progress = new Map(offsets.map((each) => [each.partition, each.progress ?? 0]));
  const starts = found.partitionStates.map((each) => [each, Math.max(each.logStart ?? 0, progress.get(each.partition) ?? 0)]);
  return new Map(starts.filter(([each, offset]) => each.problem || offset < each.highWatermark).map(([each, offset]) => [each.partition, { offset }]));
}

/** Behind its progress a group has handled some and not others: only a look at each tells. */
async function unhandled(messages, group, signal) {
  const lives = await inTurn(messages, ({ messageId }) => getExactly(path`messages/${messageId}`, {}, signal));
  return messages.filter((_, index) => !SETTLED.has(lives[index].groups.find((each) => each.group === group)?.state));
}
