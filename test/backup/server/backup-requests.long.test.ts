import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createToken } from '../../../src/auth/api-tokens.js';
import { eventually } from '../../e2e/admin-client.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { valuesOf } from '../../metrics/exposition.js';
import { PASSPHRASE, verify } from '../backup-files.js';

const directory = join(temporaryDirectory(), 'backups');

let app: TestApp;

beforeAll(async () => {
  const env = { BACKUP_DIR: directory, BACKUP_KEEP: '2', BACKUP_PASSPHRASE: PASSPHRASE };
  app = await startApp({ env });
});
afterAll(async () => {
  await app?.stop();
  removeTemporaryDirectories();
});

interface Shown {
  id: string | number;
  attributes: Record<string, unknown> & { file: string; state: string };
}

async function made(): Promise<Shown> {
  const { status, body, headers } = await adminApi(app).post('/backups');
  expect([status, body.errors]).toEqual([202, undefined]);
  const { id, attributes } = body.data as Shown;
  expect(['waiting', 'running']).toContain(attributes.state);
  expect(headers.location).toBe(`/api/v1/backups/${id}`);
  return await eventually(
    async () => (await adminApi(app).get(`/backups/${id}`)).body.data as Shown,
    (shown) => shown.attributes.finished_at !== null,
    // Its process comes last, so that a busy machine takes long.
    80_000,
  );
}

describe('POST /api/v1/backups', () => {
  it('makes an encrypted backup in the background, and shows its result', async () => {
    const { id, attributes } = await made();
    const { file, tables_total } = attributes;
    expect(attributes).toMatchObject({
      ...{ state: 'finished', source: 'request', is_encrypted: true, error: null },
      ...{ tables_done: tables_total, bytes: statSync(file).size },
    });
    expect(file).toMatch(/^.*\/backups\/muster-\d{8}T\d{6}Z\.backup$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const { manifest, masterKey } = await verify(file);
    expect([manifest.tables.length, masterKey]).toEqual([tables_total, undefined]);
    expect(manifest.tables.map(({ name }) => name)).not.toContain('backups');
    const events = await app.db.knex('audit_events').where({ target_type: 'backups' });
    expect(events).toMatchObject([
      { action: 'backups.create', target_id: String(id), outcome: 'success', details: { file } },
    ]);
  });

  it('shows the age of the newest in the metrics and the credentials', async () => {
    const age = await eventually(
      async () => {
        const text = await (await fetch(`${app.url}/metrics`)).text();
        return valuesOf(text, 'muster_backup_age_seconds')[''];
      },
      (seconds) => seconds !== undefined,
    );
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(120);
    const { body } = await adminApi(app).get('/credentials');
    expect(Date.now() - Date.parse(body.data.attributes.last_backup_at)).toBeLessThan(120_000);
  });

  it('keeps BACKUP_KEEP of them, and shows which files are gone', async () => {
    await made();
    const last = await made();
    const { body } = await adminApi(app).get('/backups?sort=-created_at');
    const shown = body.data as Shown[];
    expect(shown.map(({ attributes }) => attributes.state)).toEqual([
      ...['finished', 'finished', 'deleted'],
    ]);
    expect(shown[0]?.id).toEqual(last.id);
    const kept = shown.slice(0, 2).map(({ attributes }) => attributes.file);
    const files = readdirSync(directory).map((name) => join(directory, name));
    expect(files.sort().reverse()).toEqual(kept);
  }, 180_000);

  it('requires the role admin, as does the list', async () => {
    const actor = { name: 'test', role: 'admin' as const };
    const context = { requestId: 'test', actor, sourceAddress: null };
    for (const role of ['viewer', 'operator'] as const) {
      const { token } = await createToken(app.db, { name: role, role }, context);
      const api = adminApi(app, token);
      expect((await api.post('/backups')).status).toBe(403);
      expect((await api.get('/backups')).status).toBe(403);
    }
    expect((await adminApi(app, 'no-such-token').post('/backups')).status).toBe(401);
    expect((await adminApi(app).delete('/backups/1')).status).toBe(405);
    expect((await adminApi(app, ADMIN_TOKEN).get('/backups/999')).status).toBe(404);
  });

  it('takes no parameters', async () => {
    expect((await adminApi(app).post('/backups?file=/etc/passwd')).status).toBe(400);
  });
});
