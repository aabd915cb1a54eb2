/** A stream of events, taken up again whenever it breaks, where it was. By `fetch`: a browser's own `EventSource` shows no
 * token. */

import { Problem } from "../api/problem.js";
import { request } from "../api/server.js";
import { eventsOf } from "./event_stream.js";

const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 15_000;
const FINAL_ENDS = {
  topicRemoved: { title: "The topic was deleted", detail: "Nothing more comes." },
  partitions: { title: "The topic has too many partitions", detail: "One stream reads 100: choose one of them." },
};

/**
 * Goes on until `signal` ends it.
 * @param {{where: string, query: Record<string, unknown>, signal: AbortSignal, onEvent: (type: string, data: string) => void,
 *   onBroken: (problem: Problem) => void}} asked `onBroken` hears why it has to be taken up again
 * @returns {Promise<void>} Raises Problem where asking again is of no use.
 */
export async function follow({ where, query, signal, onEvent, onBroken }) {
  let id = "";
  let failures = 0;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(id ? { "Last-Event-ID": id } : {}) };
      const answer = await request("GET", where, { query, signal, headers });
      for await (const event of eventsOf(answer.body)) {
        failures = 0;
        if (event.type === "end") throwIfFinal(event.data);
        else onEvent(event.type, event.data);
        if (event.id) id = event.id;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) throw error;
      onBroken(error instanceof Problem ? error : Problem.unreachable());
    }
    failures += 1;
    await pause(Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** failures) * (0.5 + Math.random() / 2), signal);
  }
}

function throwIfFinal(data) {
  const end = FINAL_ENDS[JSON.parse(data).reason];
  if (end) throw new Problem({ ...end, status: 410 });
}

function isFinal(error) {
  return error instanceof Problem && error.status >= 400 && error.status < 500;
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
