/** Who uses the console: a token, kept in this tab only and for as long as it is open. */

import { forget, read, write } from "./kept.js";
import { Store } from "./store.js";

const KEPT_AS = "acklog.token";

/** `signInReason` is null where nobody has to sign in, else why. */
export const session = new Store({ token: read("sessionStorage", KEPT_AS), signInReason: null });

/** @param {string} token */
export function signIn(token) {
  write("sessionStorage", KEPT_AS, token);
  session.set({ token, signInReason: null });
}

/** @param {string} reason */
export function askToSignIn(reason) {
  forget("sessionStorage", KEPT_AS);
  session.set({ token: null, signInReason: reason });
}
