import type { Check } from '../../src/doctor/check.js';
import { jobsCheck } from '../../src/doctor/checks/jobs.js';
import { schemaCheck } from '../../src/doctor/checks/schema.js';
import { ok, warning } from '../../src/doctor/finding.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { brief, examine } from './doctor-helpers.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const fine: Check = { name: 'fine', needs: 'nothing', run: () => [ok('fine', 'All is well.')] };
const problem = { what: 'It is so.', why: 'It matters.', cure: 'Do this.' };

describe('the doctor', () => {
  it('reports the worst first, and a check that throws as a finding', async () => {
    const broken: Check = {
      name: 'broken',
      needs: 'nothing',
      run: () => {
        throw new Error('no such thing');
      },
    };
    const warned: Check = {
      name: 'warned',
      needs: 'nothing',
      run: async () => [warning('warned', problem)],
    };
    const findings = await examine({ checks: [fine, broken, warned] });
    expect(findings).toEqual([
      {
        ...{ check: 'broken', code: 'check_failed', severity: 'warning' },
        what: 'The check broken could not be carried out: no such thing.',
        ...{ why: expect.any(String), cure: expect.any(String) },
      },
      { check: 'warned', code: 'warned', severity: 'warning', ...problem },
      { check: 'fine', code: 'fine', severity: 'ok', what: 'All is well.', why: null, cure: null },
    ]);
  });

  it('shows what PostgreSQL says without the statement', async () => {
    const refused: Check = {
      name: 'refused',
      needs: 'database',
      run: async ({ db }) => {
        await db.knex.raw('select 1 from nowhere');
        return [];
      },
    };
    const [finding] = await examine({ checks: [refused], db: test.db });
    expect(finding?.what).toBe(
      'The check refused could not be carried out: relation "nowhere" does not exist.',
    );
  });

  it('says that the first start is under way until the job queue is there', async () => {
    await test.db.knex.raw('alter view jobs rename to later');
    const [finding] = await examine({ checks: [schemaCheck, jobsCheck], db: test.db });
    expect([finding?.code, finding?.what]).toEqual([
      'schema_older',
      'The tables of the job queue are missing: a start makes them now, or was ended.',
    ]);
    await test.db.knex.raw('alter view later rename to jobs');
    const after = await examine({ checks: [schemaCheck, jobsCheck], db: test.db });
    expect(brief(after)).toEqual(['ok schema', 'ok jobs']);
  });

  it('does not wait for a check longer than its limit', async () => {
    const hanging: Check = {
      name: 'hanging',
      needs: 'nothing',
      limitMs: 30,
      run: () => new Promise(() => undefined),
    };
    const findings = await examine({ checks: [hanging, fine] });
    expect(brief(findings)).toEqual(['warning check_failed', 'ok fine']);
    expect(findings[0]?.what).toBe(
      'The check hanging could not be carried out: no result within 0.03 s.',
    );
  });

  it('skips the checks that need a database when there is none', async () => {
    const reading: Check = {
      name: 'reading',
      needs: 'schema',
      run: async ({ db }) => [ok('rows', String((await db.knex('tags').select()).length))],
    };
    expect(brief(await examine({ checks: [reading, fine] }))).toEqual(['ok fine']);
    expect(brief(await examine({ checks: [reading, fine], db: test.db }))).toEqual([
      'ok rows',
      'ok fine',
    ]);
  });
});
