// Imports with extensions: tests that run in Node read this file, too.
import { deviceText } from '../../../text/device.js';

const words = deviceText.results;

interface Answer {
  data?: unknown;
}
interface Result {
  type?: unknown;
  attributes?: { status?: unknown; status_code?: unknown; reason?: unknown };
}

/** What a person reads about the answer to a button. */
export function resultOf(answer: unknown): string {
  const { data } = (answer ?? {}) as Answer;
  if (Array.isArray(data)) return words.queued(data.length);
  const { type, attributes } = (data ?? {}) as Result;
  if (type === 'commands') return isCancelled(attributes) ? words.cancelled : words.queued(1);
  if (type !== 'pushes') return words.done;
  if (attributes?.status_code === 200) return words.accepted;
  return words.refused(String(attributes?.reason ?? attributes?.status_code));
}

/** Ids of the commands that it queued. Several requests have several answers. */
export function commandsOf(answer: unknown): number[] {
  const { data } = (answer ?? {}) as Answer;
  if (Array.isArray(data)) {
    return data.flatMap((entry: Answer | undefined) =>
      commandsOf(entry?.data === undefined ? { data: entry } : entry),
    );
  }
  const { type, id, attributes } = (data ?? {}) as Result & { id?: unknown };
  return type === 'commands' && !isCancelled(attributes) ? [Number(id)] : [];
}

/** Its answer is a command as well. */
function isCancelled(attributes: Result['attributes']): boolean {
  return attributes?.status === 'Cancelled';
}

/** The same sentence, until the device has answered every command. */
export function outcomeOf(answer: unknown, statuses: readonly string[] | undefined): string {
  if (statuses === undefined || statuses.length === 0 || statuses.some(isWaiting)) {
    return resultOf(answer);
  }
  return statuses.every((status) => status === 'Acknowledged') ? words.acknowledged : words.notAll;
}

export function isWaiting(status: string): boolean {
  return ['Queued', 'Sent', 'NotNow'].includes(status);
}
