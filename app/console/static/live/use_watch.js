/** How all is, kept up to date by the stream of events, or where that is refused by asking every few seconds. */

import { useEffect, useState } from "../view.js";
import { Problem } from "../api/problem.js";
import { session } from "../api/session.js";
import { useStore } from "../api/store.js";
import { follow } from "./follow.js";
import { polled } from "./polled.js";
import { nothingWatched, withEvent } from "./watched.js";

const REFUSED = new Set([401, 403]);
const POLL_MS = 2_000;
/** Pages of a large snapshot come faster than a view can be drawn. */
const DRAWN_EVERY_MS = 150;

/**
 * @param {{kinds: string, topics?: string, groups?: string}} wanted as `GET /events` takes it
 * @returns {{watched: import("./watched.js").Watched, problem: Problem | null, source: "stream" | "polling" | "refused"}}
 *  `refused`: there is no stream, and nothing is asked in its place
 */
export function useWatch({ kinds, topics, groups }) {
  const [state, setState] = useState({ watched: nothingWatched(), problem: null, source: "stream" });
  const { token } = useStore(session);
  useEffect(() => {
    const ended = new AbortController();
    watch({ kinds, topics, groups }, ended.signal, setState);
    return () => ended.abort();
  }, [kinds, topics, groups, token]);
  return state;
}

async function watch(query, signal, show) {
  let watched = nothingWatched();
  let timer = 0;
  const draw = () => {
    timer = 0;
    if (!signal.aborted) show({ watched, problem: null, source: "stream" });
  };
  const onEvent = (_type, data) => {
    watched = withEvent(watched, JSON.parse(data));
    timer ||= setTimeout(draw, DRAWN_EVERY_MS);
  };
  const onBroken = (problem) => show((last) => ({ ...last, problem }));
  try {
    await follow({ where: "events", query, signal, onEvent, onBroken });
  } catch (error) {
    clearTimeout(timer);
    await pollOrSayWhy(Problem.of(error), query.kinds, signal, show);
  }
}

/** Only totals can be asked for as well; and what may not be watched may not be asked for either. */
async function pollOrSayWhy(problem, kinds, signal, show) {
  if (signal.aborted) return;
  if (kinds.includes("totals") && !REFUSED.has(problem.status)) await poll(signal, show);
  else show((last) => ({ ...last, problem, source: "refused" }));
}

async function poll(signal, show) {
  let before = null;
  while (!signal.aborted) {
    try {
      if (!document.hidden) {
        before = await polled(signal, before);
        show({ watched: { ...nothingWatched(), ...before.watched, isWhole: true }, problem: null, source: "polling" });
      }
    } catch (error) {
      if (signal.aborted) return;
      const problem = Problem.of(error);
      show((last) => ({ ...last, problem, source: "polling" }));
      if (REFUSED.has(problem.status)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
