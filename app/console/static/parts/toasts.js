/** Short words on what was done, which go by themselves. A screen reader hears them. */

import { html } from "../view.js";
import { Store, useStore } from "../api/store.js";

const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;
const toasts = new Store([]);
let number = 0;

/** @param {string} text @param {"good" | "bad"} [kind] */
export function say(text, kind = "good") {
  number += 1;
  const toast = { id: number, text, kind };
  toasts.set([...toasts.value, toast].slice(-SHOWN_MAX));
  setTimeout(() => toasts.set(toasts.value.filter((each) => each !== toast)), SHOWN_MS);
}

export function Toasts() {
  const shown = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((each) => html`<p key=${each.id} class=${`toast ${each.kind}`}>${each.text}</p>`)}
  </div>`;
}
