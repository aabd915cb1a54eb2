/** A way to another screen that looks like a button; for who has no right to what is there it says so, and leads nowhere. */

import { html } from "../view.js";
import { Button } from "./button.js";

/** @param {{right: {allowed: boolean, reason: string}, href: string, kind?: string, children?: unknown}} props */
export function LinkButton({ right, href, kind = "plain", children }) {
  if (!right.allowed) return html`<${Button} right=${right} kind=${kind}>${children}<//>`;
  return html`<a class=${`button ${kind}`} href=${href}>${children}</a>`;
}
