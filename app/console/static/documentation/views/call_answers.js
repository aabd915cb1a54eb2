/** What a call answers where nothing is wrong as a whole. */

import { html } from "../../view.js";
import { StatusBadge } from "./status_badge.js";
import { Contents } from "./contents.js";
import { MarkedText } from "./marked_text.js";

/** @param {{call: import("../model/api_document.js").Call, schemas: Record<string, object>}} props */
export function CallAnswers({ call, schemas }) {
  return html`<section class="call-part">
    <h2>Answers</h2>
    ${call.answers.map(
      ({ status, text, contents }) => html`<div class="answer-kind">
        <p><${StatusBadge} status=${Number(status)} /> <${MarkedText} text=${text} /></p>
        <${Contents} contents=${contents} schemas=${schemas} />
      </div>`,
    )}
  </section>`;
}
