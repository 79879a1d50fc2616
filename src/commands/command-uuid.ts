import { randomBytes } from 'node:crypto';

/**
 * A new CommandUUID: version 7 of RFC 9562 §5.7, milliseconds before 74 random bits. Neighbours in time are
 * neighbours in the index of all commands. `ordered_uuid()` is the same in SQL.
 */
export function newCommandUuid(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f);
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
