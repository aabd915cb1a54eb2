/** Groups that the token may look at, by name. */

import { get } from "./server.js";

const PAGE = 1_000;
/** So many are read; who has more finds the rest by their exact names. */
export const GROUPS_MAX = 10_000;

/** @param {AbortSignal} signal @returns {Promise<{groups: object[], isComplete: boolean}>} */
export async function readGroups(signal) {
  const groups = [];
  let after;
  do {
    const page = await get("groups", { limit: PAGE, after }, signal);
    groups.push(...page.groups);
    after = page.next;
  } while (after && groups.length < GROUPS_MAX);
  return { groups, isComplete: !after };
}
