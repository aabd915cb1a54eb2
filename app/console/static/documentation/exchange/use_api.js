/** What the server says of its calls. */

import { useEffect, useState } from "../../view.js";
import { apiOf } from "../model/api_document.js";
import { ROOT } from "./root.js";

/** @returns {{api: import("../model/api_document.js").Api | null, failure: string, again: () => void}} */
export function useApi() {
  const [state, setState] = useState({ api: null, failure: "" });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    read(ended.signal)
      .then((api) => setState({ api, failure: "" }))
      .catch((error) => ended.signal.aborted || setState({ api: null, failure: `openapi.json cannot be read: ${error.message}` }));
    return () => ended.abort();
  }, [round]);
  return { ...state, again: () => setRound((each) => each + 1) };
}

async function read(signal) {
  const answer = await fetch(`${ROOT}openapi.json`, { signal });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return apiOf(await answer.json());
}
