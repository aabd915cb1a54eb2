/** Numbers for people. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const NONE = "–";

/** 1,234,567. @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? NONE : whole.format(value);
}

/** 1.23M. @param {number | null | undefined} value */
export function shortCount(value) {
  return value === null || value === undefined ? NONE : short.format(value);
}

/** @param {number | null | undefined} value per second */
export function rate(value) {
  if (value === null || value === undefined) return NONE;
  return value > 0 && value < 10 ? `${value.toFixed(1)}/s` : `${short.format(value)}/s`;
}

/** 1.5 MiB; nothing below 0, which means no limit. @param {number | null | undefined} value */
export function bytes(value) {
  if (value === null || value === undefined || value < 0) return NONE;
  let unit = 0;
  let rest = value;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${unit && rest < 100 ? Number(rest.toFixed(1)) : Math.round(rest)} ${UNITS[unit]}`;
}

/** “1 topic”, “2 topics”. @param {number} value @param {string} noun @param {string} [plural] */
export function counted(value, noun, plural = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}
