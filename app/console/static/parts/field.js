/** A field of a form, with its label, a hint, and what is wrong with it. */

import { html, useId } from "../view.js";

/** @param {{label: string, hint?: string, fault?: string, children: (attributes: object) => unknown}} props
 *  `children` draws the control with the attributes that tie it to the rest. */
export function Field({ label, hint, fault, children }) {
  const id = useId();
  const says = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": says || undefined, "aria-invalid": fault ? "true" : undefined })}
    ${hint && html`<p id=${`${id}-hint`} class="hint">${hint}</p>`}
    ${fault && html`<p id=${`${id}-fault`} class="fault" role="alert">${fault}</p>`}
  </div>`;
}
