/** A call that failed: what happened, in the server's words, and a way on. */

import { html } from "../view.js";
import { Button } from "./button.js";
import { HostileText } from "./hostile_text.js";

const DOCUMENTED = /^[A-Z_]+$/;
const OWN = new Set(["UNREACHABLE", "CONSOLE_FAILED"]);

/** @param {{problem: import("../api/problem.js").Problem | null, onAgain?: () => void}} props */
export function ProblemNotice({ problem, onAgain }) {
  if (!problem) return null;
  const hasPage = DOCUMENTED.test(problem.code) && !OWN.has(problem.code);
  return html`<div class="notice bad" role="alert">
    <div class="notice-text">
      <strong>${problem.title}</strong>
      <p><${HostileText} text=${problem.detail} lengthMax=${500} /></p>
      ${problem.near.length > 0 && html`<p>Did you mean <${HostileText} text=${problem.near.slice(0, 3).join(", ")} />?</p>`}
      ${hasPage && html`<p class="quiet"><a href=${`docs/errors#${problem.code}`}>${problem.code}</a></p>`}
    </div>
    ${onAgain && html`<${Button} onClick=${onAgain}>Try again<//>`}
  </div>`;
}
