/** A dialog over the page. The browser keeps the focus inside, closes it at Escape, and gives the focus back. */

import { html, useEffect, useId, useRef } from "../view.js";

/** @param {{title: string, onClose: () => void, children?: unknown}} props It is there as long as it is drawn. */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  const id = useId();
  useEffect(() => {
    dialog.current.showModal();
    return () => dialog.current?.close();
  }, []);
  const outside = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${onClose} onClick=${outside}>
    <div class="dialog-content">
      <h2 id=${id}>${title}</h2>
      ${children}
    </div>
  </dialog>`;
}
