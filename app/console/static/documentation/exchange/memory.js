/** What this page has learned from the calls that were tried out, as long as it is open. */

import { Store } from "../../api/store.js";

/** @type {Store<import("../model/remembered.js").Memory>} */
export const memory = new Store({});
