import { AppError, type ErrorCode, type ErrorDetail } from '../errors.js';
import { newDict, type PlistDict } from '../protocol/plist/plist-value.js';

/** A copy of the bytes, whose memory can be transferred to another thread. */
export function ownMemory(bytes: Buffer): Buffer<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  const isOwn = byteOffset === 0 && byteLength === buffer.byteLength;
  if (isOwn && buffer instanceof ArrayBuffer) return bytes as Buffer<ArrayBuffer>;
  const copy = Buffer.from(new ArrayBuffer(byteLength));
  bytes.copy(copy);
  return copy;
}

/** Restores a value from another thread, which made byte arrays of Buffers and objects of dicts. */
export function fromThread<T>(value: T): T {
  return restored(value) as T;
}

function restored(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(restored);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const dict: Record<string, unknown> = newDict();
  for (const [key, member] of Object.entries(value)) dict[key] = restored(member);
  return dict as PlistDict;
}

/** An error as it is sent between threads, which do not preserve classes. */
export interface SentError {
  message: string;
  stack: string | undefined;
  app: { code: ErrorCode; status: number; details: ErrorDetail[] } | undefined;
}

export function writeError(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof AppError)) return { message, stack, app: undefined };
  const { code, status, details } = error;
  return { message, stack, app: { code, status, details } };
}

export function readError({ message, stack, app }: SentError): Error {
  if (app !== undefined) {
    return new AppError(app.code, app.status, message, { details: app.details });
  }
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
