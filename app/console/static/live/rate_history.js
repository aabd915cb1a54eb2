/** The last minutes of some figures, for a plot. Pure. */

export const SPAN_MS = 300_000;
export const POINTS_MAX = 600;

/** @param {number[][]} history times in seconds, then each figure's values @param {number} timeMs @param {(number | null)[]} values
 *  @returns {number[][]} a new history */
export function withPoint(history, timeMs, values) {
  const next = [[...history[0], timeMs / 1000], ...values.map((value, index) => [...history[index + 1], value])];
  const oldest = (timeMs - SPAN_MS) / 1000;
  let cut = Math.max(0, next[0].length - POINTS_MAX);
  while (next[0][cut] < oldest) cut += 1;
  return cut ? next.map((each) => each.slice(cut)) : next;
}

/** @param {number} figures */
export function emptyHistory(figures) {
  return Array.from({ length: figures + 1 }, () => []);
}

const SHOWN_MIN_S = 60;

/** From when to when a plot of them is. Of one point alone a plot would make a day.
 * @param {number[]} times in seconds @returns {[number, number]} */
export function shownOf(times) {
  const last = times.at(-1) ?? 0;
  return [Math.min(times[0] ?? last, last - SHOWN_MIN_S), last];
}
