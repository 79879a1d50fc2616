import { z } from 'zod';
import { DepRefusal } from './dep-refusal.js';
import type { MdmServer } from './mdm-server.js';

/** fetch: devices are still being read; done: all were; sync: changes are. */
export type CursorKind = 'fetch' | 'done' | 'sync';

export interface PageCursor {
  kind: CursorKind;
  /** In the list of devices. */
  device: number;
  /** In the log of operations: what came after it is not known to the client yet. */
  operation: number;
}

const content = z.tuple([
  z.enum(['fetch', 'done', 'sync']),
  z.int().min(0),
  z.int().min(0),
  /** When it was given out, milliseconds since 1970. */
  z.int(),
  z.int(),
  z.string(),
]);

const SEVEN_DAYS_MS = 7 * 86_400_000;

function parse(cursor: string): z.infer<typeof content> {
  try {
    return content.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new DepRefusal(400, 'INVALID_CURSOR');
  }
}

/** Cursors as clients see them: text of which nothing follows. */
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

  /** @throws ProgramRefusal 400 INVALID_CURSOR or EXPIRED_CURSOR */
  read(server: MdmServer, cursor: string): PageCursor {
    const [kind, device, operation, givenAt, epoch, owner] = parse(cursor);
    const isOurs = owner === `${this.stateId}/${server.name}` && operation <= server.log.end;
    if (!isOurs) throw new DepRefusal(400, 'INVALID_CURSOR');
    const isOld = Date.now() - givenAt > this.lifeMs || epoch !== server.cursorEpoch;
    if (isOld || operation < server.log.first) throw new DepRefusal(400, 'EXPIRED_CURSOR');
    return { kind, device, operation };
  }
}
