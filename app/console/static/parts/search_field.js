/** The field that `/` leads to. Escape empties it, and then leaves it. */

import { html, useId } from "../view.js";

/** @param {{label: string, value: string, onInput: (text: string) => void}} props */
export function SearchField({ label, value, onInput }) {
  const id = useId();
  const pressed = (event) => {
    if (event.key !== "Escape") return;
    if (value) onInput("");
    else event.target.blur();
  };
  return html`<span class="search">
    <label for=${id} class="only-heard">${label}</label>
    <input id=${id} type="search" placeholder=${`${label} ( / )`} value=${value} spellcheck=${false} autocomplete="off" onInput=${(event) => onInput(event.target.value)} onKeyDown=${pressed} />
  </span>`;
}
