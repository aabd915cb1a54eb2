/** Dead letters that a group has not handled. Nothing is leased. */

import { forward } from "./browse.js";
import { inTurn } from "./in_turn.js";
import { get, getExactly, path } from "./server.js";

const SETTLED = new Set(["done", "deadLettered", "passedOver", "expired"]);
const NONE = { letters: [], isAtEnd: true, problem: null };

/** The oldest letters that are not handled, of one page of the log from the group's progress on.
 * @param {string} group @param {string} topic @param {AbortSignal} signal */
export async function readLetters(group, topic, signal) {
  const found = await get(path`topics/${topic}`, {}, signal).catch((problem) => {
    if (problem.code === "TOPIC_NOT_FOUND") return null;
    throw problem;
  });
  if (found === null) return NONE;
  const { offsets } = await get(path`groups/${group}/offsets`, { topic }, signal);
  const progress = new Map(offsets.map((each) => [each.partition, each.progress ?? 0]));
  const cursors = new Map(found.partitionStates.map((each) => [each.partition, { offset: Math.max(each.logStart ?? 0, progress.get(each.partition) ?? 0) }]));
  const page = await forward({ topic, filter: "", cursors, signal });
  return { letters: await unhandled(page.messages, group, signal), isAtEnd: page.isAtEnd, problem: page.firstProblem };
}

/** Behind its progress a group has handled some and not others: only a look at each tells. */
async function unhandled(messages, group, signal) {
  const lives = await inTurn(messages, ({ messageId }) => getExactly(path`messages/${messageId}`, {}, signal));
  return messages.filter((_, index) => !SETTLED.has(lives[index].groups.find((each) => each.group === group)?.state));
}
