/** A button. One that cannot be used says why, also to who does not see it: it can be reached, and does nothing. */

import { html, useId } from "../view.js";

/** @param {{right?: {allowed: boolean, reason: string}, why?: string, kind?: "plain"|"main"|"danger"|"quiet",
 *   onClick?: (event: Event) => void, type?: string, title?: string, label?: string, pressed?: boolean, children?: unknown}} props
 *  `why` is the reason for which it cannot be used now; null: it can. `pressed` is of those that choose one of several. */
export function Button({ right, why = null, kind = "plain", onClick, type = "button", title, label, pressed, children }) {
  const id = useId();
  const reason = right && !right.allowed ? right.reason : why;
  const click = reason ? (event) => event.preventDefault() : onClick;
  return html`<button
      type=${type}
      class=${`button ${kind}`}
      aria-disabled=${reason ? "true" : undefined}
      aria-describedby=${reason ? id : undefined}
      aria-label=${label}
      aria-pressed=${pressed === undefined ? undefined : String(pressed)}
      title=${reason || title}
      onClick=${click}
    >${children}</button
    >${reason && html`<span id=${id} class="only-heard">${reason}</span>`}`;
}
