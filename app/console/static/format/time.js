/** Times and durations for people. */

const DAY_MS = 86_400_000;
const STEPS = [
  [DAY_MS, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** In the browser's time zone: 2026-11-27 14:03:09.123. @param {number} ms since 1970 */
export function time(ms) {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const fraction = String(at.getMilliseconds()).padStart(3, "0");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${fraction}`;
}

/** The two largest units: 3 d 4 h. @param {number} ms */
export function duration(ms) {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const said = [];
  let rest = ms;
  for (const [size, unit] of STEPS) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number) said.push(`${number} ${unit}`);
    else if (said.length) break;
    if (said.length === 2) break;
  }
  return said.join(" ");
}

/** @param {number} ms since 1970 */
export function ago(ms) {
  const age = Date.now() - ms;
  return Math.abs(age) < 1_000 ? "just now" : age < 0 ? `in ${duration(-age)}` : `${duration(age)} ago`;
}

/** What a setting of milliseconds means; nothing below 0, which means for ever. @param {number | null} ms */
export function period(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms < 0 ? "for ever" : duration(ms);
}

/** What a field for local times holds. @param {number} ms since 1970 */
export function localField(ms) {
  return time(ms).slice(0, 19).replace(" ", "T");
}

function two(number) {
  return String(number).padStart(2, "0");
}
