/** Who uses the console: a token, kept in this tab only and for as long as it is open. */

import { Store } from "./store.js";

const KEPT_AS = "acklog.token";

/** `signInReason` is null where nobody has to sign in, else why. */
export const session = new Store({ token: sessionStorage.getItem(KEPT_AS), signInReason: null });

/** @param {string} token */
export function signIn(token) {
  sessionStorage.setItem(KEPT_AS, token);
  session.set({ token, signInReason: null });
}

/** @param {string} reason */
export function askToSignIn(reason) {
  sessionStorage.removeItem(KEPT_AS);
  session.set({ token: null, signInReason: reason });
}
