/** Text into the clipboard. Browsers offer that to pages that came by https, or from this machine; to others only what is
 * marked can be copied. */

/** @param {string} text @returns {Promise<boolean>} whether it is there */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyMarked(text);
  }
}

function copyMarked(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "only-heard";
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
