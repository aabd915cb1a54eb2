/** A call that is tried out, as its view needs it: under way, answered, streaming, failed. */

import { useEffect, useRef, useState } from "../../view.js";
import { session } from "../../api/session.js";
import { Arrivals, nothingSeen, withArrived } from "../../live/tail_entries.js";
import { eventsOf } from "../../live/event_stream.js";
import { documentOf } from "../model/answer_text.js";
import { withCall } from "../model/remembered.js";
import { memory } from "./memory.js";
import { sendRequest } from "./send_request.js";

const DRAWN_EVERY_MS = 150;
const NOTHING = { phase: "idle", answer: null, failure: "" };

/**
 * @returns {{phase: "idle" | "asking" | "streaming" | "done" | "stopped", answer: import("./send_request.js").Answer | null,
 *   failure: string, events: ReturnType<typeof nothingSeen>, send: (call: object, filled: object, plan: object) => void, stop: () => void}}
 *  Only one is under way: it is stopped when the view goes.
 */
export function useTryOut() {
  const [state, setState] = useState(NOTHING);
  const [events, setEvents] = useState(nothingSeen());
  const ended = useRef(new AbortController());
  useEffect(() => () => ended.current.abort(), []);
  const stop = () => {
    ended.current.abort();
    setState((last) => ({ ...last, phase: last.phase === "idle" ? "idle" : "stopped" }));
  };
  const send = (call, filled, plan) => {
    ended.current.abort();
    ended.current = new AbortController();
    setState({ ...NOTHING, phase: "asking" });
    setEvents(nothingSeen());
    run({ call, filled, plan, signal: ended.current.signal, setState, setEvents });
  };
  return { ...state, events, send, stop };
}

async function run({ call, filled, plan, signal, setState, setEvents }) {
  try {
    const { answer, stream } = await sendRequest(plan, { token: session.value.token, signal });
    if (signal.aborted) return;
    setState({ phase: stream ? "streaming" : "done", answer, failure: "" });
    if (stream) await collect(stream, signal, setEvents);
    else if (answer.status < 300) memory.set(withCall(memory.value, call, filled, documentOf(answer.bytes, answer.mediaType)));
    if (stream && !signal.aborted) setState((last) => ({ ...last, phase: "done" }));
  } catch (error) {
    if (signal.aborted) return;
    const failure = error instanceof TypeError ? "The server cannot be reached, or the connection broke. Is it running?" : String(error);
    setState((last) => ({ ...last, phase: "done", failure }));
  }
}

/** However many come, the page is drawn some times a second. */
async function collect(stream, signal, setEvents) {
  const arrivals = new Arrivals();
  const draw = () => {
    if (arrivals.entries.length === 0 || signal.aborted) return;
    const arrived = arrivals.take();
    setEvents((last) => withArrived(last, arrived));
  };
  const timer = setInterval(draw, DRAWN_EVERY_MS);
  try {
    for await (const event of eventsOf(stream)) arrivals.add({ message: event });
  } finally {
    clearInterval(timer);
    draw();
  }
}
