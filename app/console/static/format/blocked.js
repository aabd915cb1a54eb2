/** What a decision about blocked messages names, as `POST /groups/{group}/keys/…` takes it. Pure. */

/** By its id where it has one: another message may come to stand at its offset, in a topic that is made anew.
 * @param {{topic: string, partition: number, offset: number, messageId: string | null, key: string | null}} message
 * @param {boolean} isForKey all that is blocked of its key */
export function blockedBody({ topic, partition, offset, messageId, key }, isForKey) {
  if (isForKey) return { topic, key };
  return messageId === null ? { topic, partition, offset } : { messageId };
}
