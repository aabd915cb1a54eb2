/** Messages of a topic as they come, found out by reading on: where the stream of them is refused. */

import { forward } from "../api/browse.js";
import { get, path } from "../api/server.js";

export const POLL_MS = 2_000;
/** Each is a request of its own. */
const PARTITIONS_MAX = 32;

/**
 * Goes on until `signal` ends it, or a read fails.
 * @param {{topic: string, filter: string, partition: string}} wanted
 * @param {AbortSignal} signal
 * @param {(messages: object[]) => void} onMessages
 * @param {unknown} refusal why there is no stream: raised where there are too many partitions to ask instead
 */
export async function pollTail({ topic, filter, partition }, signal, onMessages, refusal) {
  const { partitionStates } = await get(path`topics/${topic}`, {}, signal);
  const chosen = partitionStates.filter((each) => partition === "" || each.partition === Number(partition));
  if (chosen.length > PARTITIONS_MAX) throw refusal;
  let cursors = new Map(chosen.map((each) => [each.partition, { offset: each.highWatermark }]));
  while (!signal.aborted) {
    const page = await forward({ topic, filter, cursors, signal });
    if (page.firstProblem) throw page.firstProblem;
    cursors = page.cursors;
    onMessages(page.messages);
    if (page.isAtEnd) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
