/** What stands in the place of all screens until there is a token. */

import { html } from "../view.js";
import { TokenForm } from "./token_form.js";

/** @param {{reason: string}} props */
export function SignIn({ reason }) {
  return html`<main class="sign-in">
    <section class="card">
      <h1 tabindex="-1">Sign in</h1>
      <p role="status">${reason}</p>
      <${TokenForm} />
    </section>
  </main>`;
}
