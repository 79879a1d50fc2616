import { listedDevice, timeText } from './dep-device.js';
import { DepRefusal } from './dep-refusal.js';
import type { MdmServer } from './mdm-server.js';
import type { PageCursor, PageCursors } from './page-cursors.js';

export interface PageRequest {
  cursor?: string | undefined;
  limit: number;
}

function page(devices: object[], cursor: string, moreToFollow: boolean): object {
  const fetchedUntil = timeText(Date.now());
  return { devices, cursor, fetched_until: fetchedUntil, more_to_follow: moreToFollow };
}

function fetchStart(server: MdmServer): PageCursor {
  return { kind: 'fetch', device: 0, operation: server.log.end };
}

/** All devices; what happens meanwhile comes with the changes since the start. */
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

/** What has changed since the cursor, in the order in which it did. */
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
