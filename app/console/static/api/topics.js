/** All topics that the token may look at, as they come in. */

import { useEffect, useState } from "../view.js";
import { Problem } from "./problem.js";
import { get } from "./server.js";
import { session } from "./session.js";
import { useStore } from "./store.js";

const PAGE = 1_000;
/** So many are read; who has more finds the rest by their exact names. */
export const TOPICS_MAX = 20_000;

/** @returns {{topics: object[], isComplete: boolean, isWaiting: boolean, problem: Problem | null, again: () => void}} */
export function useTopics() {
  const [state, setState] = useState({ topics: [], isComplete: false, isWaiting: true, problem: null });
  const [round, setRound] = useState(0);
  const { token } = useStore(session);
  useEffect(() => {
    const ended = new AbortController();
    readAll(ended.signal, setState).catch((error) => {
      if (!ended.signal.aborted) setState((last) => ({ ...last, isWaiting: false, problem: Problem.of(error) }));
    });
    return () => ended.abort();
  }, [token, round]);
  return { ...state, again: () => setRound((each) => each + 1) };
}

async function readAll(signal, show) {
  const topics = [];
  let after;
  do {
    const page = await get("topics", { limit: PAGE, after }, signal);
    topics.push(...page.topics);
    after = page.next;
    if (signal.aborted) return;
    show({ topics: [...topics], isComplete: !after, isWaiting: Boolean(after), problem: null });
  } while (after && topics.length < TOPICS_MAX);
  show({ topics, isComplete: !after, isWaiting: false, problem: null });
}
