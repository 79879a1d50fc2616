import { z } from 'zod';
import { listedDevice, timeText } from './dep-device.js';
import { DepRefusal } from './dep-refusal.js';
import type { MdmServer } from './mdm-server.js';

export interface PageRequest {
  cursor?: string | undefined;
  limit: number;
}

/** A page of all devices; changes made meanwhile follow with syncPage. */
export function fetchPage(
  server: MdmServer,
  cursors: PageCursors,
  { cursor, limit }: PageRequest,
): object {
  const from = cursor === undefined ? fetchStart(server) : cursors.read(server, cursor);
  if (from.kind !== 'fetch') throw new DepRefusal(400, 'EXHAUSTED_CURSOR');
  const devices: object[] = [];
  let place = from.device;
  while (place < server.devices.length && devices.length < limit) {
    const device = server.devices[place];
    if (device !== undefined && !device.isGone) devices.push(listedDevice(device));
    place += 1;
  }
  const moreToFollow = place < server.devices.length;
  const next: PageCursor = { ...from, kind: moreToFollow ? 'fetch' : 'done', device: place };
  return page(devices, cursors.write(server, next), moreToFollow);
}

/** A page of the changes since the cursor, in order. */
export function syncPage(
  server: MdmServer,
  cursors: PageCursors,
  { cursor, limit }: PageRequest,
): object {
  if (cursor === undefined) throw new DepRefusal(400, 'CURSOR_REQUIRED');
  const from = cursors.read(server, cursor);
  if (from.kind === 'fetch') throw new DepRefusal(400, 'INVALID_CURSOR');
  const operations = server.log.from(from.operation, limit);
  const devices = operations.map(({ type, device, at }) => ({
    ...listedDevice(device),
    op_type: type,
    op_date: timeText(at),
  }));
  const operation = from.operation + operations.length;
  const next: PageCursor = { kind: 'sync', device: 0, operation };
  return page(devices, cursors.write(server, next), operation < server.log.end);
}

/** fetch: devices are being read; done: all were read; sync: changes are being read. */
type CursorKind = 'fetch' | 'done' | 'sync';

interface PageCursor {
  kind: CursorKind;
  /** Index in the list of devices. */
  device: number;
  /** Place in the log of operations, up to which the client has read. */
  operation: number;
}

const content = z.tuple([
  z.enum(['fetch', 'done', 'sync']),
  z.int().min(0),
  z.int().min(0),
  /** Time of issue, milliseconds since 1970. */
  z.int(),
  z.int(),
  z.string(),
]);

const SEVEN_DAYS_MS = 7 * 86_400_000;

/** Encodes cursors as opaque text. */
export class PageCursors {
  constructor(
    private readonly stateId: string,
    private readonly lifeMs = SEVEN_DAYS_MS,
  ) {}

  write(server: MdmServer, { kind, device, operation }: PageCursor): string {
    const owner = `${this.stateId}/${server.name}`;
    const parts = [kind, device, operation, Date.now(), server.cursorEpoch, owner];
    return Buffer.from(JSON.stringify(parts)).toString('base64url');
  }

  /** @throws DepRefusal 400 INVALID_CURSOR or EXPIRED_CURSOR */
  read(server: MdmServer, cursor: string): PageCursor {
    const [kind, device, operation, issuedAt, epoch, owner] = parse(cursor);
    const isOurs = owner === `${this.stateId}/${server.name}` && operation <= server.log.end;
    if (!isOurs) throw new DepRefusal(400, 'INVALID_CURSOR');
    const isOld = Date.now() - issuedAt > this.lifeMs || epoch !== server.cursorEpoch;
    if (isOld || operation < server.log.first) throw new DepRefusal(400, 'EXPIRED_CURSOR');
    return { kind, device, operation };
  }
}

function page(devices: object[], cursor: string, moreToFollow: boolean): object {
  const fetchedUntil = timeText(Date.now());
  return { devices, cursor, fetched_until: fetchedUntil, more_to_follow: moreToFollow };
}

function fetchStart(server: MdmServer): PageCursor {
  return { kind: 'fetch', device: 0, operation: server.log.end };
}

function parse(cursor: string): z.infer<typeof content> {
  try {
    return content.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new DepRefusal(400, 'INVALID_CURSOR');
  }
}
