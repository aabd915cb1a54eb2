/** How far behind groups are, each asked by itself: where the stream of events is refused. */

import { inTurn } from "./in_turn.js";
import { get, path } from "./server.js";

/** Each is a call of its own. */
export const GROUPS_ASKED_MAX = 50;

/** @typedef {{lag: number | null, oldestMs: number | null, inFlight: number, deadLettered: number}} GroupSum
 *   all topics of a group together */

/** By name; without those that cannot be asked.
 * @param {string[]} names the first of them are asked @param {AbortSignal} signal @returns {Promise<Map<string, GroupSum>>} */
export async function askSums(names, signal) {
  const found = await inTurn(names.slice(0, GROUPS_ASKED_MAX), async (name) => {
    try {
      return [[name, sumOf(await get(path`groups/${name}/offsets`, {}, signal))]];
    } catch (error) {
      if (signal.aborted || error.status === 0) throw error;
      return []; // it has gone meanwhile, or its partitions are in trouble: the others are known
    }
  });
  return new Map(found.flat());
}

function sumOf({ lag, oldestAgeMs, offsets }) {
  const sum = (member) => offsets.reduce((total, each) => total + (each[member] ?? 0), 0);
  return { lag, oldestMs: oldestAgeMs, inFlight: sum("inFlight"), deadLettered: sum("deadLettered") };
}
