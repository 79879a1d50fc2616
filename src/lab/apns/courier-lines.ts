import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { LabError } from '../wire/lab-error.js';

/** What a device asks of the courier. */
export type CourierOperation =
  | { name: 'connect'; topic: string }
  | { name: 'disconnect' }
  | { name: 'forget' };

/** A push as a device receives it. */
export interface CourierPush {
  /** Lower-case hexadecimal. */
  token: string;
  payload: { mdm: string };
  apnsId: string;
}

/** Hexadecimal of either case; APNs takes 32 to 100 bytes. */
export function isDeviceToken(text: string): boolean {
  const { length } = text;
  return length >= 64 && length <= 200 && length % 2 === 0 && /^[0-9a-f]+$/i.test(text);
}

const tokens = z.array(z.string().refine(isDeviceToken)).max(10_000);

const clientLine = z.strictObject({
  /** Returned once the line is carried out. */
  id: z.int().optional(),
  connect: tokens.optional(),
  topic: z.string().max(256).optional(),
  disconnect: tokens.optional(),
  forget: tokens.optional(),
});

export type ClientLine = z.infer<typeof clientLine>;

const serverLine = z.union([
  z.object({ done: z.number() }),
  z
    .object({
      token: z.string(),
      payload: z.object({ mdm: z.string() }),
      apns_id: z.string(),
    })
    .transform(({ token, payload, apns_id }) => ({ token, payload, apnsId: apns_id })),
]);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function writeClientLine(
  id: number,
  operation: CourierOperation,
  tokens: readonly string[],
): string {
  const topic = operation.name === 'connect' ? operation.topic : undefined;
  return `${JSON.stringify({ id, [operation.name]: tokens, topic })}\n`;
}

/** Throws LabError for any other text. */
export function readClientLine(text: string): ClientLine {
  const { data } = clientLine.safeParse(parseJson(text));
  if (data === undefined || (data.connect !== undefined && data.topic === undefined)) {
    throw new LabError('not a line that the courier understands');
  }
  return data;
}

export function writePushLine({ token, payload, apnsId }: CourierPush): string {
  return `${JSON.stringify({ token, payload, apns_id: apnsId })}\n`;
}

export function writeDoneLine(id: number): string {
  return `${JSON.stringify({ done: id })}\n`;
}

/** undefined for lines of another kind. */
export function readServerLine(text: string): CourierPush | { done: number } | undefined {
  return serverLine.safeParse(parseJson(text)).data;
}

const MAX_LINE_LENGTH = 1_000_000;

/** Lines of text out of the pieces that a stream delivers; no line is longer than a million. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that this piece completes. Throws LabError when one is too long. */
  read(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_LINE_LENGTH)
      throw new LabError('a line of the courier is too long');
    return lines;
  }
}
