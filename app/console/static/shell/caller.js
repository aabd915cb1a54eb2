/** Whose token is in use, and the way out. */

import { html } from "../view.js";
import { get } from "../api/server.js";
import { askToSignIn, session } from "../api/session.js";
import { useStore } from "../api/store.js";
import { useAnswer } from "../api/use_answer.js";
import { Button } from "../parts/button.js";
import { HostileText } from "../parts/hostile_text.js";

export function Caller() {
  const { token } = useStore(session);
  const { answer } = useAnswer((signal) => get("token", {}, signal), []);
  if (!token) return null;
  return html`<span class="caller">
    <span class="caller-name" title="the name of your token">${answer && html`<${HostileText} text=${answer.name} lengthMax=${32} />`}</span>
    <${Button} kind="quiet" onClick=${() => askToSignIn("You have signed out.")}>Sign out<//>
  </span>`;
}
