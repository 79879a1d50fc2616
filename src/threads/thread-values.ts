import { newDict, type PlistDict } from '../protocol/plist/plist-value.js';

/** The bytes with memory of their own, which can be handed over to another thread. */
export function ownMemory(bytes: Buffer): Buffer<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  const isOwn = byteOffset === 0 && byteLength === buffer.byteLength;
  if (isOwn && buffer instanceof ArrayBuffer) return bytes as Buffer<ArrayBuffer>;
  const copy = Buffer.from(new ArrayBuffer(byteLength));
  bytes.copy(copy);
  return copy;
}

/** What came from another thread: there Buffers became byte arrays, and dictionaries plain objects. */
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
