/** Short words on what was done, which go by themselves. A screen reader hears them. */

import { html } from "../view.js";
import { Store, useStore } from "../api/store.js";
import { HostileText } from "./hostile_text.js";

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

/** What a button without a place for it could not do. @param {import("../api/problem.js").Problem} problem */
export function sayWhyNot(problem) {
  say(problem.message, "bad");
}

export function Toasts() {
  const shown = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((each) => html`<p key=${each.id} class=${`toast ${each.kind}`}><${HostileText} text=${each.text} lengthMax=${500} /></p>`)}
  </div>`;
}
