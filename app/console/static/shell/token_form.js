/** The form for a token, which stays in this tab. */

import { html, useState } from "../view.js";
import { signIn } from "../api/session.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";

/** @param {{onSigned?: () => void}} props */
export function TokenForm({ onSigned }) {
  const [token, setToken] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (!token.trim()) return;
    signIn(token.trim());
    onSigned?.();
  };
  return html`<form class="token-form" onSubmit=${submit}>
    <${Field} label="Token" hint="It stays in this tab, and is forgotten when the tab is closed.">
      ${(attributes) =>
        html`<input ...${attributes} type="password" autocomplete="off" spellcheck=${false} autofocus value=${token} onInput=${(event) => setToken(event.target.value)} />`}
    <//>
    <${Button} kind="main" type="submit" why=${token.trim() ? null : "There is no token yet."}>Sign in<//>
    <p class="hint">Who runs the server makes tokens: <code>acklog tokens create</code>, or its tokens file.</p>
  </form>`;
}
