/** What a call answers, as a view needs it: now, again at intervals, and why not. */

import { useCallback, useEffect, useRef, useState } from "../view.js";
import { Problem } from "./problem.js";
import { session } from "./session.js";
import { useStore } from "./store.js";

/**
 * `ask` gets a signal that ends when nobody waits any more. It is asked anew when `about` changes, and every `everyMs`
 * while the tab is seen. The last good answer stays while a later one fails.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} ask
 * @param {unknown[]} about
 * @param {{everyMs?: number}} [options]
 * @returns {{answer: T | null, problem: Problem | null, isWaiting: boolean, again: () => void}}
 */
export function useAnswer(ask, about, { everyMs = 0 } = {}) {
  const [state, setState] = useState({ answer: null, problem: null, isWaiting: true });
  const [round, setRound] = useState(0);
  const { token } = useStore(session);
  const asked = useRef(ask);
  asked.current = ask;
  const subject = JSON.stringify([...about, token]);
  const last = useRef(subject);
  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    if (last.current !== subject) {
      last.current = subject;
      setState({ answer: null, problem: null, isWaiting: true });
    }
    const look = async () => {
      if (document.hidden && everyMs) {
        timer = setTimeout(look, everyMs);
        return;
      }
      try {
        const answer = await asked.current(ended.signal);
        if (!ended.signal.aborted) setState({ answer, problem: null, isWaiting: false });
      } catch (error) {
        if (ended.signal.aborted) return;
        setState(({ answer }) => ({ answer, problem: Problem.of(error), isWaiting: false }));
      }
      if (everyMs && !ended.signal.aborted) timer = setTimeout(look, everyMs);
    };
    look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [subject, round, everyMs]);
  const again = useCallback(() => setRound((each) => each + 1), []);
  return { ...state, again };
}
