/** Settings in a form: their values as text, what somebody has changed, and the call's body of it. Pure. */

/** Words that a setting may have; all others are typed. */
export const WORDS = {
  retention: ["time", "untilAcked"],
  cleanupPolicy: ["delete", "compact", "compact,delete"],
  encryption: ["off", "on"],
  startPosition: ["earliest", "latest"],
  fairBy: ["none", "key"],
  assignor: ["sticky", "range", "roundRobin", "lag"],
  onMissingPosition: ["start", "refuse"],
  onExhausted: ["deadLetter", "block", "retry"],
  onExpired: ["skip", "deadLetter"],
};
const TEXTS = new Set(["deadLetterTopic", "fairByHeader", "filter", ...Object.keys(WORDS)]);
const WHOLE = /^-?\d{1,16}$/;
const PART = /^\d(\.\d{1,9})?$/;

/** @param {Record<string, unknown>} settings as a GET shows them @returns {Record<string, string>} */
export function formOf(settings) {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, textOf(value)]));
}

/** Nothing typed: the default. @param {Record<string, string>} before @param {Record<string, string>} form
 *  @returns {{name: string, before: string, after: string}[]} */
export function changesOf(before, form) {
  const changed = Object.keys(before).filter((name) => form[name].trim() !== before[name]);
  return changed.map((name) => ({ name, before: before[name], after: form[name].trim() }));
}

/** What the server could not even read, by field; what a value may be, it says itself.
 * @param {{name: string, after: string}[]} changes @returns {Record<string, string>} */
export function settingFaults(changes) {
  const faults = {};
  for (const { name, after } of changes) {
    if (after === "" || TEXTS.has(name)) continue;
    if (name === "retryJitter") {
      if (!PART.test(after)) faults[name] = "A number from 0 to 1.";
    } else if (name === "retryDelaysMs") {
      if (!after.split(",").every((each) => WHOLE.test(each.trim()))) faults[name] = "Whole numbers, with commas between them.";
    } else if (!WHOLE.test(after)) faults[name] = "A whole number.";
  }
  return faults;
}

/** @param {{name: string, after: string}[]} changes without faults @returns {Record<string, unknown>} */
export function settingsOf(changes) {
  return Object.fromEntries(changes.map(({ name, after }) => [name, valueOf(name, after)]));
}

function valueOf(name, text) {
  if (text === "") return null;
  if (TEXTS.has(name)) return text;
  if (name === "retryDelaysMs") return text.split(",").map((each) => Number(each.trim()));
  return Number(text);
}

function textOf(value) {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
