/** A topic's log, page by page over some of its partitions, in the order of time. Nothing is leased. */

import { inTurn } from "./in_turn.js";
import { getExactly, path } from "./server.js";

export const PAGE = 50;
/** Of batches that one answer brings; one batch always comes. */
const ANSWER_BYTES_MAX = 262_144;
/** So many answers are asked for until one holds what is looked for; then whoever looks says whether to go on. */
const ANSWERS_MAX = 8;

/**
 * @typedef {{offset?: number, time?: number, isAtEnd?: boolean}} Cursor where to go on in a partition
 * @typedef {{messages: object[], cursors: Map<number, Cursor>, isAtEnd: boolean, firstProblem: unknown}} Page
 *   `isAtEnd`: there is no more now. `firstProblem`: why a partition could not be read; the others were.
 */

/** The next messages behind the cursors, the oldest first.
 * @param {{topic: string, filter: string, cursors: Map<number, Cursor>, signal?: AbortSignal}} asked @returns {Promise<Page>} */
export async function forward({ topic, filter, cursors, signal }) {
  const reads = await inTurn([...cursors], orProblem(([partition, cursor]) => readOn(topic, partition, cursor, filter, signal)));
  const read = reads.filter((each) => !each.problem);
  const found = read.flatMap(({ messages }) => messages).sort(byTime);
  const messages = found.slice(0, PAGE);
  const left = new Map();
  for (const message of found.slice(PAGE)) {
    if (!(left.get(message.partition) <= message.offset)) left.set(message.partition, message.offset);
  }
  const next = new Map(cursors);
  for (const { partition, nextOffset, isAtEnd } of read) {
    next.set(partition, left.has(partition) ? { offset: left.get(partition) } : { offset: nextOffset, isAtEnd });
  }
  return { ...pageOf(messages, next, reads), isAtEnd: read.every((each) => each.isAtEnd) && left.size === 0 };
}

/** The messages before the cursors, the newest first: of each partition a window.
 * @param {{topic: string, filter: string, cursors: Map<number, Cursor>, starts: Map<number, number>, windowSize: number, signal?: AbortSignal}} asked
 * @returns {Promise<Page>} */
export async function backward({ topic, filter, cursors, starts, windowSize, signal }) {
  const reads = await inTurn([...cursors], orProblem(async ([partition, { offset: until }]) => {
    const offset = Math.max(starts.get(partition), until - windowSize);
    if (offset >= until) return { partition, messages: [], offset, isAtEnd: true };
    const messages = await readWindow(topic, partition, { offset, until, filter, signal });
    return { partition, messages, offset, isAtEnd: offset <= starts.get(partition) };
  }));
  const read = reads.filter((each) => !each.problem);
  const next = new Map(cursors);
  for (const { partition, offset } of read) next.set(partition, { offset });
  const messages = read.flatMap((each) => each.messages).sort((one, other) => byTime(other, one));
  return { ...pageOf(messages, next, reads), isAtEnd: read.every((each) => each.isAtEnd) };
}

function pageOf(messages, cursors, reads) {
  return { messages, cursors, firstProblem: reads.find((each) => each.problem)?.problem ?? null };
}

async function readOn(topic, partition, cursor, filter, signal) {
  const messages = [];
  let where = cursor.offset === undefined ? { time: cursor.time } : { offset: cursor.offset };
  for (let answers = 0; answers < ANSWERS_MAX; answers += 1) {
    const answer = await records(topic, partition, { ...where, filter, maxBytes: ANSWER_BYTES_MAX }, signal);
    messages.push(...answer.records);
    const isAtEnd = answer.nextOffset >= answer.highWatermark;
    if (isAtEnd || messages.length >= PAGE) return { partition, messages, nextOffset: answer.nextOffset, isAtEnd };
    where = { offset: answer.nextOffset };
  }
  return { partition, messages, nextOffset: where.offset, isAtEnd: false };
}

async function readWindow(topic, partition, { offset, until, filter, signal }) {
  const messages = [];
  let at = offset;
  while (at < until) {
    const answer = await records(topic, partition, { offset: at, until, filter, maxBytes: ANSWER_BYTES_MAX }, signal);
    messages.push(...answer.records);
    if (answer.nextOffset <= at) break;
    at = answer.nextOffset;
  }
  return messages;
}

function records(topic, partition, query, signal) {
  return getExactly(path`topics/${topic}/partitions/${partition}/records`, query, signal);
}

function byTime(one, other) {
  return one.appendTime - other.appendTime || one.partition - other.partition || one.offset - other.offset;
}

/** A partition that cannot be read says `problem`, and keeps none from coming. */
function orProblem(read) {
  return async (entry) => {
    try {
      return await read(entry);
    } catch (problem) {
      if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
      return { partition: entry[0], messages: [], problem };
    }
  };
}
