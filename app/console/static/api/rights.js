/** What the token may do, as the server decides it: asked once for each thing, and again with another token. */

import { useEffect, useState } from "../view.js";
import { get } from "./server.js";
import { session } from "./session.js";
import { useStore } from "./store.js";

const decisions = new Map();
session.listen(() => decisions.clear());

/** Until the server has decided, nothing is offered. */
const UNDECIDED = { allowed: false, reason: "The server has not said yet whether your token may do this." };
const UNASKED = { allowed: true, reason: "" };

/**
 * @param {"send"|"receive"|"settle"|"look"|"seek"|"manage"|"purge"|"audit"} action
 * @param {{topic?: string, group?: string} | null} [on] nothing: the cluster; null: it is not known yet on what, and the
 *  server will say when it is done
 * @returns {{allowed: boolean, reason: string}} `reason` is for people, and empty where it is allowed
 */
export function useRight(action, on = {}) {
  const { token } = useStore(session);
  const [decision, setDecision] = useState(UNDECIDED);
  useEffect(() => {
    if (on === null) return undefined;
    let isCurrent = true;
    decisionOn(action, on).then((found) => isCurrent && setDecision(found));
    return () => {
      isCurrent = false;
    };
  }, [action, on?.topic, on?.group, token]);
  return on === null ? UNASKED : decision;
}

function decisionOn(action, { topic, group }) {
  const key = JSON.stringify([action, topic, group]);
  if (!decisions.has(key)) decisions.set(key, ask(action, topic, group).catch(() => forget(key)));
  return decisions.get(key);
}

async function ask(action, topic, group) {
  const said = await get("token/can", { action, topic, group });
  if (said.allowed) return { allowed: true, reason: "" };
  const resource = topic ? `topic ${topic}` : group ? `group ${group}` : "the cluster";
  return { allowed: false, reason: `Your token “${said.token}” has no right to ${action} on ${resource}.` };
}

function forget(key) {
  decisions.delete(key);
  return UNDECIDED;
}
