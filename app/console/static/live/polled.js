/** How all is, found out by asking again and again: where the stream of events is refused. It has the shape of what that
 * stream tells, as far as it can be known this way. */

import { get } from "../api/server.js";

const COUNTED = {
  sentPerSecond: "acklog_messages_sent_total",
  deliveredPerSecond: "acklog_messages_delivered_total",
  settledPerSecond: "acklog_messages_settled_total",
};

/** Asks once. @param {AbortSignal} signal @param {object | null} before what it said the time before */
export async function polled(signal, before) {
  const [cluster, text] = await Promise.all([get("cluster", {}, signal), metrics(signal)]);
  const time = Date.now();
  const counts = text === null ? null : sums(text);
  const gateway = counts && before?.counts ? ratesOf(before, { time, counts }) : null;
  const nodes = new Map(cluster.nodes.map((each) => [String(each.node), each]));
  const rates = { messagesPerSecond: null, settledPerSecond: null, lag: null, topics: null, groups: null };
  return { time, counts, watched: { time, totals: { ...cluster, ...rates, gateway }, nodes } };
}

/** Each counter's sum over all its labels. Pure. @param {string} text as Prometheus reads it */
export function sums(text) {
  const found = Object.fromEntries(Object.values(COUNTED).map((name) => [name, 0]));
  for (const line of text.split("\n")) {
    const name = line.slice(0, line.search(/[ {]/));
    if (name in found) found[name] += Number(line.slice(line.lastIndexOf(" ")));
  }
  return found;
}

function ratesOf(before, now) {
  const seconds = Math.max(0.001, (now.time - before.time) / 1000);
  // A counter that is lower than before belongs to a gateway that was started anew, or to another one.
  const rate = (name) => Math.max(0, now.counts[name] - before.counts[name]) / seconds;
  return Object.fromEntries(Object.entries(COUNTED).map(([member, name]) => [member, rate(name)]));
}

/** Null for who may not look at everything. */
async function metrics(signal) {
  try {
    return await get("metrics", {}, signal);
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}
