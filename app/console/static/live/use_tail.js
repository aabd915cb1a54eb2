/** The last messages of a topic's stream, for a view that is drawn some times a second however many come. */

import { useCallback, useEffect, useRef, useState } from "../view.js";
import { parseExactly } from "../api/exact_json.js";
import { Problem } from "../api/problem.js";
import { path } from "../api/server.js";
import { follow } from "./follow.js";
import { pollTail } from "./polled_tail.js";
import { Arrivals, nothingSeen, withArrived } from "./tail_entries.js";

export { TAIL_SHOWN_MAX } from "./tail_entries.js";
const TOO_MANY_REQUESTS = 429;
const CLOSED = { isOpen: false, problem: null, source: "stream" };
const BODY_BYTES_MAX = 1_024;
const DRAWN_EVERY_MS = 200;

/** While `isPaused`, what comes is kept back: the last of it, as much as can be shown.
 * @param {{topic: string, filter: string, partition: string, isPaused: boolean}} wanted */
export function useTail({ topic, filter, partition, isPaused }) {
  const [shown, setShown] = useState(nothingSeen());
  const [state, setState] = useState(CLOSED);
  const waiting = useRef(new Arrivals());
  useEffect(() => {
    if (!topic) return undefined;
    const ended = new AbortController();
    waiting.current = new Arrivals();
    setShown(nothingSeen());
    setState(CLOSED);
    open({ topic, filter, partition }, ended.signal, waiting.current, setState);
    return () => ended.abort();
  }, [topic, filter, partition]);
  useEffect(() => {
    if (isPaused) return undefined;
    const timer = setInterval(() => {
      if (waiting.current.entries.length === 0) return;
      const arrived = waiting.current.take();
      setShown((last) => withArrived(last, arrived));
    }, DRAWN_EVERY_MS);
    return () => clearInterval(timer);
  }, [isPaused]);
  return { ...shown, ...state, clear: useCallback(() => setShown(nothingSeen()), []) };
}

async function open({ topic, filter, partition }, signal, waiting, show) {
  const onEvent = (type, data) => {
    show((last) => (last.isOpen ? last : { ...CLOSED, isOpen: true }));
    if (type === "message") waiting.add({ message: parseExactly(data) });
    if (type === "gap") waiting.add({ gap: JSON.parse(data) });
  };
  const onBroken = (problem) => show({ ...CLOSED, problem });
  const onMessages = (messages) => messages.forEach((message) => waiting.add({ message }));
  const onRefused = () => show({ isOpen: true, problem: null, source: "polling" });
  try {
    await followOrPoll({ topic, filter, partition }, signal, { onEvent, onBroken, onMessages, onRefused });
  } catch (error) {
    if (!signal.aborted) show({ ...CLOSED, problem: Problem.of(error) });
  }
}

async function followOrPoll({ topic, filter, partition }, signal, { onEvent, onBroken, onMessages, onRefused }) {
  const query = { filter, partition, maxBodyBytes: BODY_BYTES_MAX };
  try {
    await follow({ where: path`topics/${topic}/tail`, query, signal, onEvent, onBroken });
  } catch (error) {
    if (error.status !== TOO_MANY_REQUESTS) throw error;
    onRefused();
    await pollTail({ topic, filter, partition }, signal, onMessages, error);
  }
}
