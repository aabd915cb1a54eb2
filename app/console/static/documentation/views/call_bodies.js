/** What is sent with a call. */

import { html } from "../../view.js";
import { Badge } from "../../parts/badge.js";
import { Contents } from "./contents.js";

/** @param {{call: import("../model/api_document.js").Call, schemas: Record<string, object>}} props */
export function CallBodies({ call, schemas }) {
  if (call.bodies.length === 0) return null;
  return html`<section class="call-part">
    <h2>Body ${!call.isBodyRequired && html`<${Badge}>may be left out<//>`}</h2>
    <${Contents} contents=${call.bodies} schemas=${schemas} opened=${1} />
  </section>`;
}
