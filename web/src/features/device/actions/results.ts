// Imports with extensions: tests that run in Node read this file, too.
import { deviceText } from '../../../text/device.js';

const words = deviceText.results;

interface Answer {
  data?: unknown;
}
interface Push {
  type?: unknown;
  attributes?: { status_code?: unknown; reason?: unknown };
}

/** What a person reads about the answer to a button. */
export function resultOf(answer: unknown): string {
  const { data } = (answer ?? {}) as Answer;
  if (Array.isArray(data)) return words.queued(data.length);
  const { type, attributes } = (data ?? {}) as Push;
  if (type === 'commands') return words.queued(1);
  if (type !== 'pushes') return words.done;
  if (attributes?.status_code === 200) return words.accepted;
  return words.refused(String(attributes?.reason ?? attributes?.status_code));
}
