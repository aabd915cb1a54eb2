/** Where a token is given, from the bar and from an answer that asks for one. */

import { html } from "../../view.js";
import { session } from "../../api/session.js";
import { Store, useStore } from "../../api/store.js";
import { Dialog } from "../../parts/dialog.js";
import { TokenForm } from "../../shell/token_form.js";

const SIGNED_OUT = "You have signed out.";

/** Whether it is open. */
export const tokenDialog = new Store(false);
// The server does not take the one that is there: why is said where another is given.
session.listen(({ token, signInReason }) => tokenDialog.set(!token && signInReason !== null && signInReason !== SIGNED_OUT));

/** @param {{onClose: () => void}} props */
export function TokenDialog({ onClose }) {
  const { signInReason } = useStore(session);
  return html`<${Dialog} title="Use a token" onClose=${onClose}>
    <p role="status">${signInReason && signInReason !== SIGNED_OUT ? signInReason : "It is sent with each call that you try out here."}</p>
    <${TokenForm} onSigned=${onClose} />
  <//>`;
}
