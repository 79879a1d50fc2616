import { type Database, runStatement } from '../connection/database.js';

/** Seconds; a clock that is wrong by less does no harm. */
const TOLERATED_OFFSET = 600;
/** Seconds; an offset that has moved by less is the same. */
const SAME_OFFSET = 60;

/** Clocks that are right again leave their row; those of unknown time (null) keep it. */
const FLUSH = {
  name: 'flush_last_seen',
  text: `
with s as materialized (
  select * from unnest($1::bigint[], $2::timestamptz[], $3::bigint[]) as s (id, at, clock_offset)
), wrong as (
  insert into device_clocks as c (device_id, offset_seconds, noticed_at, measured_at)
  select s.id, s.clock_offset, s.at, s.at from s join devices d on d.id = s.id
  where abs(s.clock_offset) > ${TOLERATED_OFFSET} order by s.id
  on conflict (device_id) do update
    set offset_seconds = excluded.offset_seconds, measured_at = excluded.measured_at
    where abs(c.offset_seconds - excluded.offset_seconds) > ${SAME_OFFSET}
), right_again as (
  delete from device_clocks c using s
  where c.device_id = s.id and abs(s.clock_offset) <= ${TOLERATED_OFFSET}
)
update devices d set last_seen = greatest(d.last_seen, s.at)
from (select id, at from s order by id) s
where d.id = s.id`,
};

const FLUSH_MS = 800;

interface Contact {
  at: Date;
  /** Seconds that the clock of the device is ahead; null: its message has no time. */
  clockOffset: number | null;
}

/** Collects times of contact in memory, so that an Idle poll alone writes nothing. */
export class LastSeen {
  readonly #contacts = new Map<number, Contact>();
  readonly #db: Database;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Database, onError: (error: unknown) => void) {
    this.#db = db;
    this.#onError = onError;
  }

  /** `signedAt` is the time that the device claims for its message. */
  mark(deviceId: number, signedAt: Date | undefined): void {
    const at = new Date();
    this.#contacts.set(deviceId, { at, clockOffset: offsetOf(signedAt, at) });
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.flush().catch(this.#onError);
    }, FLUSH_MS);
  }

  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#contacts.size === 0) return;
    const entries = [...this.#contacts].sort(([a], [b]) => a - b);
    this.#contacts.clear();
    const ids = entries.map(([id]) => id);
    const times = entries.map(([, { at }]) => at);
    const offsets = entries.map(([, { clockOffset }]) => clockOffset);
    try {
      await runStatement(this.#db, FLUSH, [ids, times, offsets]);
    } catch (error) {
      // Retried with the next flush, unless the device was seen again meanwhile.
      for (const [id, contact] of entries) {
        if (!this.#contacts.has(id)) this.#contacts.set(id, contact);
      }
      throw error;
    }
  }
}

function offsetOf(signedAt: Date | undefined, at: Date): number | null {
  return signedAt === undefined ? null : Math.round((signedAt.getTime() - at.getTime()) / 1000);
}
