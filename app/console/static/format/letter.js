/** Dead letters: which topics have a group's, and why one is there, as its headers say. Pure. */

const HEADER = "acklog-dead-letter-";

/** The topics that a group's letters are in, those with letters first.
 * @param {{name: string, settings: {deadLetterTopic?: string | null}}} group @param {object[]} places its positions */
export function letterTopics(group, places) {
  const suffix = `.${group.name.slice(group.name.indexOf("/") + 1)}.dlq`;
  const chosen = group.settings.deadLetterTopic;
  const sources = places.filter((each) => each.topic !== chosen && !each.topic.endsWith(suffix));
  const inOrder = [...sources].sort((one, other) => (other.deadLettered ?? 0) - (one.deadLettered ?? 0));
  const names = inOrder.map((each) => `${each.topic}${suffix}`);
  return [...new Set(chosen ? [chosen, ...names] : names)];
}

/** In a few words, such as can be counted. @param {{headers?: Record<string, string>}} letter */
export function reasonOf({ headers = {} }) {
  if (!headers[`${HEADER}topic`]) return "not a dead letter";
  if (headers[`${HEADER}cause`] === "expired") return "expired";
  return lastSaid(headers[`${HEADER}reasons`]) ?? "no reason was given";
}

/** @param {{headers?: Record<string, string>}} letter */
export function originOf({ headers = {} }) {
  const said = (name) => headers[HEADER + name] ?? "";
  return { place: said("topic") ? `${said("topic")} ${said("partition")}:${said("offset")}` : "unknown", attempts: said("attempts") };
}

/** How many have each reason, the most frequent first. @param {object[]} letters @returns {[string, number][]} */
export function countsByReason(letters) {
  const counts = new Map();
  for (const letter of letters) counts.set(reasonOf(letter), (counts.get(reasonOf(letter)) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

/** Whoever may send to the topic may have written it. */
function lastSaid(reasons) {
  try {
    const last = JSON.parse(reasons).at(-1).reason;
    return typeof last === "string" ? last : null;
  } catch {
    return null;
  }
}
