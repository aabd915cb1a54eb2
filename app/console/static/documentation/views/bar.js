/** The bar above all: whose token is sent, the console, colours, keys. */

import { html } from "../../view.js";
import { session } from "../../api/session.js";
import { useStore } from "../../api/store.js";
import { Button } from "../../parts/button.js";
import { Caller } from "../../shell/caller.js";
import { ThemeSwitch } from "../../shell/theme.js";
import { TokenDialog, tokenDialog } from "./token_dialog.js";

/** @param {{consoleAddress: string, help: () => void}} props */
export function Bar({ consoleAddress, help }) {
  const { token } = useStore(session);
  const isOpen = useStore(tokenDialog);
  return html`<header class="bar">
      <a class="brand" href="#/"><span class="brand-sign" aria-hidden="true">✓</span> Acklog <span class="brand-part">API</span></a>
      <span class="bar-end">
        ${token ? html`<${Caller} />` : html`<${Button} kind="quiet" onClick=${() => tokenDialog.set(true)}>Use a token …<//>`}
        ${consoleAddress && html`<a class="bar-link" href=${consoleAddress}>Console</a>`}
        <${ThemeSwitch} />
        <button type="button" class="icon-button" onClick=${help} title="Keys (?)" aria-label="Keys"><span aria-hidden="true">?</span></button>
      </span>
    </header>
    ${isOpen && html`<${TokenDialog} onClose=${() => tokenDialog.set(false)} />`}`;
}
