/** What a tail shows: the newest first, and no more than somebody can look through. Pure. */

export const TAIL_SHOWN_MAX = 200;

/** `seen` counts messages. */
export function nothingSeen() {
  return { entries: [], seen: 0, number: 0 };
}

/** What has come and is not shown yet. */
export class Arrivals {
  constructor() {
    this.entries = [];
    this.messages = 0;
  }

  /** @param {{message: object} | {gap: object}} entry The oldest goes where there are more than could be shown. */
  add(entry) {
    this.entries.push(entry);
    if (this.entries.length > TAIL_SHOWN_MAX) this.entries.shift();
    if ("message" in entry) this.messages += 1;
  }

  /** All of it, once. */
  take() {
    const taken = { entries: this.entries, messages: this.messages };
    this.entries = [];
    this.messages = 0;
    return taken;
  }
}

/** @param {ReturnType<typeof nothingSeen>} shown @param {ReturnType<Arrivals["take"]>} arrived */
export function withArrived(shown, { entries, messages }) {
  const numbered = entries.map((each, index) => ({ ...each, number: shown.number + index }));
  return {
    entries: [...numbered.reverse(), ...shown.entries].slice(0, TAIL_SHOWN_MAX),
    seen: shown.seen + messages,
    number: shown.number + entries.length,
  };
}
