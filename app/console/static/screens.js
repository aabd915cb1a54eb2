/** All screens, in the order of the navigation. One that has a key is in it. */

import { cluster } from "./screens/cluster.js";
import { group } from "./screens/group.js";
import { groups } from "./screens/groups.js";
import { letters } from "./screens/letters.js";
import { message } from "./screens/message.js";
import { messages } from "./screens/messages.js";
import { overview } from "./screens/overview.js";
import { send } from "./screens/send.js";
import { tail } from "./screens/tail.js";
import { topic } from "./screens/topic.js";
import { topics } from "./screens/topics.js";

/** @type {import("./routing/matching.js").Screen[]} */
export const SCREENS = [overview, topics, topic, messages, message, groups, group, letters, cluster, tail, send];
