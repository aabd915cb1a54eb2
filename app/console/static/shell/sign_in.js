/** The form for a token. */

import { html, useState } from "../view.js";
import { signIn } from "../api/session.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";

/** @param {{reason: string}} props */
export function SignIn({ reason }) {
  const [token, setToken] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (token.trim()) signIn(token.trim());
  };
  return html`<main class="sign-in">
    <form class="card" onSubmit=${submit}>
      <h1 tabindex="-1">Sign in</h1>
      <p role="status">${reason}</p>
      <${Field} label="Token" hint="It stays in this tab, and is forgotten when the tab is closed.">
        ${(attributes) =>
          html`<input ...${attributes} type="password" autocomplete="off" spellcheck=${false} autofocus value=${token} onInput=${(event) => setToken(event.target.value)} />`}
      <//>
      <${Button} kind="main" type="submit" why=${token.trim() ? null : "There is no token yet."}>Sign in<//>
      <p class="hint">Who runs the server makes tokens: <code>acklog tokens create</code>, or its tokens file.</p>
    </form>
  </main>`;
}
