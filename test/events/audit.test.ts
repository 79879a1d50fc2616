import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { writeAudit } from '../../src/events/audit.js';
import type { AuditEvent } from '../../src/jsonapi/context.js';
import { createTestDatabase } from '../helpers/database.js';

const EVENT: AuditEvent = {
  context: {
    requestId: 'request-1',
    actor: { name: 'ci', role: 'operator' },
    sourceAddress: '2001:db8::1',
  },
  action: 'devices.update',
  targetType: 'devices',
  targetId: 7,
  outcome: 'success',
  details: { attributes: ['device_name'] },
};

describe('the audit trail', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  const events = () => test.db.knex('audit_events').orderBy('id');

  it('has no line for a change that was rolled back', async () => {
    const work = inTransaction(test.db, async (trx) => {
      await writeAudit(trx, EVENT);
      throw new Error('the change failed');
    });
    await expect(work).rejects.toThrow();
    expect(await events()).toEqual([]);
  });

  it('stores actor, address, action, target, request and outcome', async () => {
    await inTransaction(test.db, (trx) => writeAudit(trx, EVENT));
    await inTransaction(test.db, (trx) =>
      writeAudit(trx, {
        context: { ...EVENT.context, sourceAddress: null },
        action: 'commands.create',
        targetType: 'commands',
        targetId: null,
        outcome: 'refused',
        details: { code: 'forbidden' },
      }),
    );
    expect(await events()).toEqual([
      {
        id: expect.any(Number),
        at: expect.any(Date),
        actor: 'ci',
        role: 'operator',
        source_address: '2001:db8::1',
        action: 'devices.update',
        target_type: 'devices',
        target_id: '7',
        request_id: 'request-1',
        outcome: 'success',
        details: { attributes: ['device_name'] },
        session_id: null,
      },
      expect.objectContaining({
        source_address: null,
        target_id: null,
        outcome: 'refused',
        details: { code: 'forbidden' },
      }),
    ]);
  });

  it('is written by one helper, and by two statements that answer devices', () => {
    const src = join(__dirname, '../../src');
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
    const writers = files.filter((name) => {
      if (!name.endsWith('.ts')) return false;
      return /insertAuditRow|into audit_events|trx\('audit_events'\)/.test(
        readFileSync(join(src, name), 'utf8'),
      );
    });
    expect(writers.sort()).toEqual([
      'db/admin/audit-repository.ts',
      'db/devices/return-to-service.ts',
      'db/enroll/replaced-enrollment.ts',
      'events/audit.ts',
    ]);
  });

  it('can be neither changed nor deleted', async () => {
    await expect(test.db.knex('audit_events').update({ actor: 'nobody' })).rejects.toThrow(
      'audit_events is append-only',
    );
    await expect(test.db.knex('audit_events').delete()).rejects.toThrow('append-only');
  });
});
