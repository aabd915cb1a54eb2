/** All screens, in the order of the navigation. One that has a key is in it. */

import { overview } from "./screens/overview.js";
import { topics } from "./screens/topics.js";

/** @type {import("./routing/matching.js").Screen[]} */
export const SCREENS = [overview, topics];
