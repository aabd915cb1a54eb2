/** Settings for people: by their names, which say their units. Pure. */

import { bytes, count } from "./number.js";
import { period } from "./time.js";

/** @param {string} name @param {unknown} value */
export function settingText(name, value) {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.map((each) => settingText(name, each)).join(", ") || "none";
  if (typeof value !== "number") return String(value);
  if (/Ms$/.test(name)) return value === 0 ? "0" : period(value);
  if (/Bytes$|BytesPerSecond$/.test(name)) return value < 0 ? "no limit" : bytes(value);
  return Number.isInteger(value) ? count(value) : String(value);
}
